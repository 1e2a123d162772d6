import { memoryObjectStore } from "../../adapters/memory/object-store.ts";
import type { ConfigMap, Secret } from "../../api/core.ts";
import type { AnyObject } from "../../api/kinds.ts";
import type { Terraform, TerraformSpec } from "../../api/terraform.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../fakes/clock.ts";

/** Objects for tests, as short as can be; everything not named is plain. */

export function terraformOf(spec: Partial<TerraformSpec> = {}, name = "app"): Terraform {
  return {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    metadata: { name, namespace: "default" },
    spec: { interval: "10m", sourceRef: { kind: "GitRepository", name: "code" }, ...spec },
  };
}

export function secretOf(name: string, data: Readonly<Record<string, string>>): Secret {
  const encoded = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value).toString("base64"),
  ]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "default" },
    data: Object.fromEntries(encoded),
  };
}

export function configMapOf(name: string, data: Readonly<Record<string, string>>): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default" },
    data: { ...data },
  };
}

/** A store in memory that holds these objects. */
export async function storeWith(...objects: readonly AnyObject[]): Promise<ObjectStore> {
  const store = memoryObjectStore({ clock: new VirtualClock(), random: seededRandom(1) });
  for (const object of objects)
    await store.create(object, { signal: new AbortController().signal });
  return store;
}
