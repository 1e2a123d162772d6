import { beforeEach, expect, test } from "vitest";
import type { ArtifactFact } from "../domain/facts.ts";
import { ArtifactError, type ArtifactStore } from "../ports/artifacts.ts";
import { noLog } from "../ports/log.ts";
import { VirtualClock } from "../testing/fakes/clock.ts";
import { ArtifactFetches } from "./artifact-fetches.ts";

const call = { signal: new AbortController().signal };
const key = (name: string) => ({ namespace: "team", name });
const artifact: ArtifactFact = {
  ...{ revision: "main@sha1:1", digest: `sha256:${"a".repeat(64)}` },
  ...{ url: "http://source/a.tar.gz", sizeBytes: 3 },
};

let clock: VirtualClock;
let kept: Set<string>;
let opened: string[];
let answers: Map<string, PromiseWithResolvers<void>>;
let asked: string[];
let fetches: ArtifactFetches;

beforeEach(() => {
  clock = new VirtualClock();
  [kept, opened, answers, asked] = [new Set(), [], new Map(), []];
  const store: ArtifactStore = {
    async isKept({ digest }) {
      return kept.has(digest);
    },
    async open({ digest }) {
      opened.push(digest);
      const answer = Promise.withResolvers<void>();
      answers.set(digest, answer);
      await answer.promise;
      kept.add(digest);
      return { digest, sizeBytes: 3, async *chunks() {} };
    },
  };
  const ask = (name: string) => asked.push(name);
  const over = new AbortController().signal;
  fetches = new ArtifactFetches({ artifacts: store, clock, log: noLog, ask }, over);
});

test("one fetch serves all who wait, and each is asked again", async () => {
  expect(await fetches.fact(artifact, call)).toEqual({ state: "absent" });
  fetches.begin(artifact, key("a"));
  fetches.begin(artifact, key("b"));
  await clock.advance(1);
  expect(opened).toHaveLength(1);
  expect(await fetches.fact(artifact, call)).toEqual({ state: "fetching" });
  answers.get(artifact.digest)?.resolve();
  await clock.advance(1);
  expect(asked).toEqual(["team/a", "team/b"]);
  expect(await fetches.fact(artifact, call)).toBeUndefined();
});

test("a failure is told until a later attempt succeeds", async () => {
  fetches.begin(artifact, key("a"));
  await clock.advance(1);
  answers.get(artifact.digest)?.reject(new ArtifactError("not there", true));
  await clock.advance(1);
  expect(await fetches.fact(artifact, call)).toEqual({ state: "failed", message: "not there" });
  fetches.begin(artifact, key("a"));
  await clock.advance(1);
  expect(await fetches.fact(artifact, call)).toEqual({ state: "failed", message: "not there" });
  answers.get(artifact.digest)?.resolve();
  await clock.advance(1);
  expect(asked).toEqual(["team/a", "team/a"]);
  expect(await fetches.fact(artifact, call)).toBeUndefined();
});

test("a store that never answers ends in a failure, and does not hold others up", async () => {
  for (let count = 0; count < 33; count++) {
    const digest = `sha256:${String(count).padStart(64, "0")}`;
    fetches.begin({ ...artifact, digest }, key(`n-${count}`));
  }
  await clock.advance(1);
  expect(opened).toHaveLength(32);
  await clock.advance(331_000);
  expect(opened).toHaveLength(33);
  expect(asked).toHaveLength(32);
});
