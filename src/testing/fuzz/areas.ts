import { archiveArea } from "./archives.ts";
import type { FuzzArea } from "./area.ts";
import { httpArea } from "./http.ts";
import { manifestArea } from "./manifests.ts";
import { resultArea } from "./results.ts";
import { answerArea, runnerArea } from "./runner-messages.ts";

/** Every door through which texts and bytes of others come in. */
export const fuzzAreas: readonly FuzzArea[] = [
  manifestArea,
  archiveArea,
  resultArea,
  runnerArea,
  answerArea,
  httpArea,
];

/**
 * What a campaign may add to this process's memory, whatever it is fed. By hand it runs with a heap
 * of 300 MiB, so that what is not garbage shows.
 */
export const GROWTH_BYTES_MAX = 400 * 1024 * 1024;
