import type { ObjectMeta } from "../api/meta.ts";
import type { Call } from "./call.ts";

/**
 * A cluster as a person's tools see it: every kind that matters to a migration or to a fence, also
 * those the engine has nothing to do with. Failures are StoreError, as of an object store.
 */
export interface ClusterAdmin {
  /** How a person calls it, such as `cluster prod (10.0.0.1:6443)`. */
  readonly name: string;
  /** Whose names are meant where nobody names a namespace. */
  readonly namespace: string;
  /** All of a kind, page by page. A kind that the cluster does not know has none. */
  list(kind: ClusterKind, where: ClusterQuery, call: Call): Promise<ClusterObject[]>;
  get(kind: ClusterKind, key: ClusterKey, call: Call): Promise<ClusterObject | undefined>;
  create(kind: ClusterKind, object: ClusterObject, call: Call): Promise<ClusterObject>;
  /** Merges these fields into the object; null takes one away. */
  patch(kind: ClusterKind, key: ClusterKey, fields: object, call: Call): Promise<void>;
  /** With its uid, so that one made anew under the name is left alone. One that is gone is fine. */
  delete(kind: ClusterKind, key: ClusterKey & { readonly uid: string }, call: Call): Promise<void>;
  /** Whether the caller may do this; asked of the server, which does nothing of it. */
  mayI(right: Right, call: Call): Promise<boolean>;
  /** The cluster's time in ms since 1970, by its newest answer; undefined before the first. */
  nowMs(): number | undefined;
}

export const clusterKinds = {
  Terraform: { group: "infra.contrib.fluxcd.io", version: "v1alpha2", plural: "terraforms" },
  Pod: { group: "", version: "v1", plural: "pods" },
  Node: { group: "", version: "v1", plural: "nodes" },
  Secret: { group: "", version: "v1", plural: "secrets" },
  Lease: { group: "coordination.k8s.io", version: "v1", plural: "leases" },
  Deployment: { group: "apps", version: "v1", plural: "deployments" },
  CustomResourceDefinition: {
    group: "apiextensions.k8s.io",
    version: "v1",
    plural: "customresourcedefinitions",
  },
} as const;
export type ClusterKind = keyof typeof clusterKinds;

export interface ClusterQuery {
  /** All if left out. */
  readonly namespace?: string;
  /** A selector such as `a=b,c`. */
  readonly labels?: string;
  /** Such as `metadata.name=a`. */
  readonly fields?: string;
  /** Values of Secrets do not even leave the server. */
  readonly metadataOnly?: boolean;
}

export interface ClusterKey {
  /** Undefined for what lies in none. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface Right {
  readonly verb: string;
  readonly kind: ClusterKind;
  /** Such as `status`. */
  readonly part?: string;
  /** In every namespace if left out. */
  readonly namespace?: string;
}

/** An object as the server sends it; who reads more of it than its metadata looks closely. */
export interface ClusterObject {
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}
