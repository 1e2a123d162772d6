import type { Shell } from "../../cli/world.ts";
import { VirtualClock } from "./clock.ts";

/** A shell for verbs that need no world: it keeps what is printed. */
export function quietShell(): Shell & { readonly printed: { out: string; err: string } } {
  const printed = { out: "", err: "" };
  const none = () => Promise.reject(new Error("This shell has no world"));
  return {
    printed,
    clock: new VirtualClock(),
    out: {
      write: (text) => {
        printed.out += text;
      },
      error: (text) => {
        printed.err += text;
      },
      isTerminal: false,
      columns: 80,
      colours: false,
    },
    connect: none,
    up: none,
    readFile: none,
    readManifests: none,
    applyObject: none,
    version: "9.9.9",
    interrupted: new AbortController().signal,
  };
}
