import type { TSchema } from "typebox";
import { Bucket, ConfigMap, Event, GitRepository, Lease, OCIRepository, Secret } from "./core.ts";
import { Terraform } from "./terraform.ts";

/** The kinds Nigari knows, in a list one can read. */
export interface Kinds {
  Terraform: Terraform;
  GitRepository: GitRepository;
  OCIRepository: OCIRepository;
  Bucket: Bucket;
  Secret: Secret;
  ConfigMap: ConfigMap;
  Event: Event;
  Lease: Lease;
}
export type KindName = keyof Kinds;
export type ObjectOf<K extends KindName> = Kinds[K];
export type AnyObject = Kinds[KindName];

export interface KindFacts {
  readonly apiVersion: string;
  readonly plural: string;
  /** Names a person may type for it, besides kind and plural. */
  readonly shortNames: readonly string[];
  /** Has a status that is written apart from the rest; a generation counts its spec's changes. */
  readonly hasStatus: boolean;
  readonly schema: TSchema;
}

const SOURCES = "source.toolkit.fluxcd.io/v1";

export const kinds: { readonly [K in KindName]: KindFacts } = {
  Terraform: {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    plural: "terraforms",
    shortNames: ["tf"],
    hasStatus: true,
    schema: Terraform,
  },
  GitRepository: {
    apiVersion: SOURCES,
    plural: "gitrepositories",
    shortNames: ["gitrepo"],
    hasStatus: true,
    schema: GitRepository,
  },
  OCIRepository: {
    apiVersion: SOURCES,
    plural: "ocirepositories",
    shortNames: ["ocirepo"],
    hasStatus: true,
    schema: OCIRepository,
  },
  Bucket: {
    apiVersion: SOURCES,
    plural: "buckets",
    shortNames: [],
    hasStatus: true,
    schema: Bucket,
  },
  Secret: {
    apiVersion: "v1",
    plural: "secrets",
    shortNames: [],
    hasStatus: false,
    schema: Secret,
  },
  ConfigMap: {
    apiVersion: "v1",
    plural: "configmaps",
    shortNames: ["cm"],
    hasStatus: false,
    schema: ConfigMap,
  },
  Event: {
    apiVersion: "v1",
    plural: "events",
    shortNames: ["ev"],
    hasStatus: false,
    schema: Event,
  },
  Lease: {
    apiVersion: "coordination.k8s.io/v1",
    plural: "leases",
    shortNames: [],
    hasStatus: false,
    schema: Lease,
  },
};

export const kindNames = Object.keys(kinds) as KindName[];

/** Names one object. Every kind here is namespaced. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}
export interface ObjectRef<K extends KindName = KindName> extends ObjectKey {
  readonly kind: K;
}

/** `namespace/name`: the form in messages, and the key on the queue. */
export function keyText(key: ObjectKey): string {
  return `${key.namespace}/${key.name}`;
}

/** The key of an object from that form. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf("/");
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The key of an object; "default" where it names no namespace. */
export function keyOf(object: { metadata: { name: string; namespace?: string } }): ObjectKey {
  return { namespace: object.metadata.namespace ?? "default", name: object.metadata.name };
}
