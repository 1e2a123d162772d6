import type { World } from "../world.ts";

/** Something that may be so in a cluster, wrong or not, with what is true then. */
export interface Fault {
  readonly name: string;
  /** Faults of one realm contradict each other: a world takes at most one of each. */
  readonly realm?: "control-plane" | "controller" | "network";
  /** The controller's process began anew a short while ago. */
  readonly restarts?: boolean;
  /** It tells of a pass that may be older than that, and so contradicts it. */
  readonly hasPast?: boolean;
  apply(world: World): void;
}
