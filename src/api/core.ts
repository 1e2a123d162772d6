import Type, { type Static } from "typebox";
import { Condition, Duration, ObjectMeta } from "./meta.ts";

/** The kinds beside Terraform that Nigari reads and writes, as far as it does. */

const maybe = Type.Optional;
const stringMap = Type.Record(Type.String(), Type.String());

export const Secret = Type.Object({
  apiVersion: Type.Literal("v1"),
  kind: Type.Literal("Secret"),
  metadata: ObjectMeta,
  type: maybe(Type.String()),
  immutable: maybe(Type.Boolean()),
  /** Base64 values. */
  data: maybe(stringMap),
  /** Plain values; folded into `data` when an object is written, as the API server does. */
  stringData: maybe(stringMap),
});
export type Secret = Static<typeof Secret>;

export const ConfigMap = Type.Object({
  apiVersion: Type.Literal("v1"),
  kind: Type.Literal("ConfigMap"),
  metadata: ObjectMeta,
  immutable: maybe(Type.Boolean()),
  data: maybe(stringMap),
  binaryData: maybe(stringMap),
});
export type ConfigMap = Static<typeof ConfigMap>;

const ObjectReference = Type.Object({
  apiVersion: maybe(Type.String()),
  kind: maybe(Type.String()),
  namespace: maybe(Type.String()),
  name: maybe(Type.String()),
  uid: maybe(Type.String()),
  resourceVersion: maybe(Type.String()),
  fieldPath: maybe(Type.String()),
});

export const Event = Type.Object({
  apiVersion: Type.Literal("v1"),
  kind: Type.Literal("Event"),
  metadata: ObjectMeta,
  involvedObject: ObjectReference,
  reason: maybe(Type.String()),
  message: maybe(Type.String()),
  type: maybe(Type.String({ description: "Normal or Warning." })),
  count: maybe(Type.Integer()),
  firstTimestamp: maybe(Type.Union([Type.String(), Type.Null()])),
  lastTimestamp: maybe(Type.Union([Type.String(), Type.Null()])),
  source: maybe(Type.Object({ component: maybe(Type.String()), host: maybe(Type.String()) })),
  reportingComponent: maybe(Type.String()),
  reportingInstance: maybe(Type.String()),
});
export type Event = Static<typeof Event>;

export const Lease = Type.Object({
  apiVersion: Type.Literal("coordination.k8s.io/v1"),
  kind: Type.Literal("Lease"),
  metadata: ObjectMeta,
  spec: maybe(
    Type.Object({
      holderIdentity: maybe(Type.String()),
      leaseDurationSeconds: maybe(Type.Integer()),
      acquireTime: maybe(Type.String()),
      renewTime: maybe(Type.String()),
      leaseTransitions: maybe(Type.Integer()),
    }),
  ),
});
export type Lease = Static<typeof Lease>;

export const Artifact = Type.Object({
  path: maybe(Type.String({ description: "Path in the artifact server's storage." })),
  url: Type.String({
    description: "Where the archive is fetched; file: below the data directory.",
  }),
  revision: Type.String({ description: "Opaque, such as main@sha1:<hash>." }),
  digest: maybe(Type.String({ description: "<algorithm>:<hex> of the archive." })),
  size: maybe(Type.Integer({ description: "Bytes." })),
  lastUpdateTime: maybe(Type.String()),
});
export type Artifact = Static<typeof Artifact>;

const SourceStatus = Type.Object({
  observedGeneration: maybe(Type.Integer()),
  lastHandledReconcileAt: maybe(Type.String()),
  conditions: maybe(Type.Array(Condition)),
  artifact: maybe(Artifact),
  url: maybe(Type.String()),
});

export const GitRepository = Type.Object({
  apiVersion: Type.Literal("source.toolkit.fluxcd.io/v1"),
  kind: Type.Literal("GitRepository"),
  metadata: ObjectMeta,
  spec: Type.Object({
    url: Type.String({ minLength: 1, description: "https, ssh, file or a local path." }),
    interval: Duration("How often to look for new commits."),
    timeout: maybe(Duration("Time limit of one look; 60s by default.")),
    suspend: maybe(Type.Boolean()),
    ref: maybe(
      Type.Object({
        branch: maybe(Type.String()),
        tag: maybe(Type.String()),
        semver: maybe(Type.String()),
        name: maybe(Type.String()),
        commit: maybe(Type.String()),
      }),
    ),
    secretRef: maybe(Type.Object({ name: Type.String() })),
    ignore: maybe(Type.String()),
    recurseSubmodules: maybe(Type.Boolean()),
  }),
  status: maybe(SourceStatus),
});
export type GitRepository = Static<typeof GitRepository>;

const foreignSource = <K extends string>(kind: K) =>
  Type.Object({
    apiVersion: Type.Literal("source.toolkit.fluxcd.io/v1"),
    kind: Type.Literal(kind),
    metadata: ObjectMeta,
    spec: Type.Unknown(),
    status: maybe(SourceStatus),
  });
export const OCIRepository = foreignSource("OCIRepository");
export type OCIRepository = Static<typeof OCIRepository>;
export const Bucket = foreignSource("Bucket");
export type Bucket = Static<typeof Bucket>;
