import Type, { type Static } from "typebox";

/** Kubernetes object metadata, as far as Nigari reads or writes it. */
export const ObjectMeta = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 253 }),
  namespace: Type.Optional(Type.String({ maxLength: 63 })),
  uid: Type.Optional(Type.String()),
  resourceVersion: Type.Optional(Type.String()),
  generation: Type.Optional(Type.Integer()),
  creationTimestamp: Type.Optional(Type.String()),
  deletionTimestamp: Type.Optional(Type.String()),
  deletionGracePeriodSeconds: Type.Optional(Type.Integer()),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
  annotations: Type.Optional(Type.Record(Type.String(), Type.String())),
  finalizers: Type.Optional(Type.Array(Type.String())),
  ownerReferences: Type.Optional(
    Type.Array(
      Type.Object({
        apiVersion: Type.String(),
        kind: Type.String(),
        name: Type.String(),
        uid: Type.String(),
        controller: Type.Optional(Type.Boolean()),
        blockOwnerDeletion: Type.Optional(Type.Boolean()),
      }),
    ),
  ),
  managedFields: Type.Optional(Type.Array(Type.Unknown())),
});
export type ObjectMeta = Static<typeof ObjectMeta>;

/** metav1.Condition. Times are RFC 3339 in whole seconds, as Kubernetes writes them. */
export const Condition = Type.Object({
  type: Type.String(),
  status: Type.Union([Type.Literal("True"), Type.Literal("False"), Type.Literal("Unknown")]),
  reason: Type.String(),
  message: Type.String(),
  observedGeneration: Type.Optional(Type.Integer()),
  lastTransitionTime: Type.String(),
});
export type Condition = Static<typeof Condition>;

/** A Go duration string such as "10m0s"; see `parseDuration`. */
export const Duration = (description: string) =>
  Type.String({ description, format: "go-duration" });

/** What every object has. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}
