import { describe, expect, test } from "vitest";
import type { PlaceFlags } from "../cli/world.ts";
import { choosePlace, type Found, type Place } from "./place.ts";

const none: PlaceFlags = { dataDir: undefined, kubeconfig: undefined, context: undefined };
const empty: Found = { dataDir: "/data", isKept: false, hasKubeconfig: false };
const cluster: Place = { is: "cluster" };
const local = (said = false): Place => ({ is: "local", dataDir: "/data", said });

interface Row {
  readonly flags?: Partial<PlaceFlags>;
  readonly env?: Record<string, string>;
  readonly found?: Partial<Found>;
}

describe("where a verb works", () => {
  const kept = { isKept: true };
  const rows: Record<string, Row & { readonly place: Place }> = {
    "a context is named": { flags: { context: "prod" }, found: kept, place: cluster },
    "a kubeconfig is named": { flags: { kubeconfig: "f" }, found: kept, place: cluster },
    "a data directory is named": {
      flags: { dataDir: "/data" },
      env: { KUBECONFIG: "f" },
      place: local(),
    },
    "one is named by the environment, and KUBECONFIG is set for other tools": {
      env: { NIGARI_DATA_DIR: "/data", KUBECONFIG: "f" },
      place: local(true),
    },
    "one is named by the environment alone": {
      env: { NIGARI_DATA_DIR: "/data" },
      found: { hasKubeconfig: true },
      place: local(),
    },
    "objects are kept here": { found: kept, place: local() },
    "objects are kept here, and there is a kubeconfig as on most machines": {
      found: { isKept: true, hasKubeconfig: true },
      place: local(true),
    },
    "nothing is kept here, and KUBECONFIG is set": { env: { KUBECONFIG: "f" }, place: cluster },
    "nothing is kept here, and there is a kubeconfig": {
      found: { hasKubeconfig: true },
      place: cluster,
    },
    "it is a pod": { env: { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, place: cluster },
    "there is nothing anywhere": { place: local() },
    "an empty variable says nothing": {
      env: { KUBECONFIG: "", NIGARI_DATA_DIR: "" },
      place: local(),
    },
  };
  test.each(Object.entries(rows))("%s", (_, { flags, env = {}, found, place }) => {
    expect(choosePlace({ ...none, ...flags }, env, { ...empty, ...found })).toEqual(place);
  });

  const refused: Record<string, Row & { readonly says: RegExp }> = {
    "both are named": {
      flags: { dataDir: "/data", context: "prod" },
      says: /leave one out/,
    },
    "objects are kept here, and KUBECONFIG points elsewhere": {
      env: { KUBECONFIG: "f" },
      found: kept,
      says: /say which with --data-dir \/data or --context NAME/,
    },
  };
  test.each(Object.entries(refused))(
    "is not guessed: %s",
    (_, { flags, env = {}, found, says }) => {
      const choose = () => choosePlace({ ...none, ...flags }, env, { ...empty, ...found });
      expect(choose).toThrow(says);
    },
  );
});
