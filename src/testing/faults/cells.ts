/** The fault matrix: every stage of a run × everything that can befall it there. */

export const stages = [
  "artifact",
  "init",
  "workspace",
  "plan",
  "show",
  "apply",
  "outputs",
  "destroy",
  "health",
] as const;
export type StageName = (typeof stages)[number];

/** What is going on when the fault strikes. */
export const stageText: Readonly<Record<StageName, string>> = {
  artifact: "the runner extracts the artifact",
  init: "`tofu init` reads the state",
  workspace: "`tofu workspace select` is about to choose one",
  plan: "`tofu plan` holds the lock and reads the state",
  show: "`tofu show` is about to read the plan",
  apply: "`tofu apply` has made a resource and is in the middle of the next",
  outputs: "`tofu output` reads the state after an apply",
  destroy: "`tofu apply` of a destroy is in the middle of a resource",
  health: "the runner waits for the answer to a health check after an apply",
};

export const faults = [
  "runner-killed",
  "runner-frozen",
  "tofu-killed",
  "tofu-frozen",
  "engine-killed",
  "both-killed",
  "disk-full",
  "door-broken",
  "door-silent",
  "source-silent",
  "clock-jumps",
] as const;
export type FaultName = (typeof faults)[number];

export interface FaultText {
  readonly title: string;
  /** By which means the fault is made. */
  readonly means: string;
  /** What must hold, and by when. */
  readonly bound: string;
}

const whole =
  "In the end the state holds every resource, each effect was had once, and nothing of the run " +
  "is left.";

export const faultTexts: Readonly<Record<FaultName, FaultText>> = {
  "runner-killed": {
    title: "The runner is killed",
    means: "SIGKILL of the runner's process.",
    bound:
      "The loss is told within 1 s; a new attempt is as far within 45 s, in init within 15 s. " +
      whole,
  },
  "runner-frozen": {
    title: "The runner is frozen",
    means: "SIGSTOP of the runner's process; it is never woken again.",
    bound: `It is called unreachable within 10 s; a plan is as far again within 45 s. ${whole}`,
  },
  "tofu-killed": {
    title: "OpenTofu is killed",
    means: "SIGKILL of the process that the runner started as OpenTofu.",
    bound: "It is told within 5 s; a plan is as far again within 45 s.",
  },
  "tofu-frozen": {
    title: "OpenTofu is frozen",
    means:
      "SIGSTOP of OpenTofu's process. Stages have a limit of 20 s here, set by a module that is " +
      "loaded into the engine before its program.",
    bound:
      "The status says until when the stage may take; at its limit OpenTofu is interrupted, and " +
      "60 s later killed.",
  },
  "engine-killed": {
    title: "The engine is killed",
    means: "SIGKILL of the engine, which is started anew.",
    bound: `Within 1 s of its first answer the status tells where the run is. ${whole}`,
  },
  "both-killed": {
    title: "The engine and the runner are killed",
    means: "SIGKILL of the engine and of the runner at once; the engine is started anew.",
    bound: `Within 1 s of the engine's first answer the loss is told. ${whole}`,
  },
  "disk-full": {
    title: "The disk of the working directory is full",
    means:
      "The folder of all runs is a small file system of its own (tmpfs), which a file fills to " +
      "the last byte. It takes the right to mount; without it the column is skipped, and said so.",
    bound: `It is told within 30 s; once there is room again, all goes on. ${whole}`,
  },
  "door-broken": {
    title: "The state door answers 500",
    means:
      "A proxy between OpenTofu and the state door answers every request of the object with 500. " +
      "Stages have a limit of 20 s here.",
    bound: `OpenTofu asks again and again until its stage's limit, then it is told. ${whole}`,
  },
  "door-silent": {
    title: "The state door never answers",
    means:
      "The same proxy accepts every request and answers none. Stages have a limit of 20 s here.",
    bound: `OpenTofu waits until its stage's limit, then it is told. ${whole}`,
  },
  "source-silent": {
    title: "The source accepts and never answers",
    means: "The Git server of the object's source accepts connections and says nothing.",
    bound:
      "The source says so within its timeout (5 s here); a run that goes on does not notice, for " +
      "the engine keeps the artifact.",
  },
  "clock-jumps": {
    title: "The clock jumps an hour",
    means:
      "The engine's wall clock, as its Clock port reads it, goes an hour ahead for 12 s and back " +
      "again, by a module that is loaded into the engine before its program.",
    bound: `No run is suspected, ended or begun again. ${whole}`,
  },
};

export type Expected =
  | { readonly is: "recovered"; readonly then: string }
  /** Nothing goes on by itself, and the status says why and what a person can do. */
  | { readonly is: "stalled"; readonly then: string }
  | { readonly is: "impossible"; readonly why: string };

const noTofu: Expected = {
  is: "impossible",
  why: "the runner extracts it itself: no OpenTofu lives",
};
const noTofuChecks: Expected = {
  is: "impossible",
  why: "the runner makes the checks itself: no OpenTofu lives",
};

function recovered(then: string): Expected {
  return { is: "recovered", then };
}

/** What is to come of the fault in this stage. */
export function expected(stage: StageName, fault: FaultName): Expected {
  switch (fault) {
    case "runner-killed":
    case "both-killed":
      if (isApply(stage)) return recovered("OpenTofu goes on, is watched and collected");
      if (isAfterApply(stage))
        return recovered("a fresh plan confirms the apply, and does the rest");
      return recovered("a new attempt is made");
    case "runner-frozen":
      if (isApply(stage)) {
        return recovered("OpenTofu is asked to stop after 30 s, then its end is collected");
      }
      if (isAfterApply(stage)) return recovered("it is ended, and a fresh plan does the rest");
      return recovered("its processes are ended after 30 s, and a new attempt is made");
    case "tofu-killed":
      if (stage === "artifact") return noTofu;
      if (stage === "health") return noTofuChecks;
      if (isApply(stage)) {
        const then = "what may exist unrecorded is named, and a person approves what follows";
        return { is: "stalled", then };
      }
      return recovered("the failure is told, and it is tried again after spec.retryInterval");
    case "tofu-frozen":
      if (stage === "artifact") return noTofu;
      if (stage === "health") return noTofuChecks;
      if (isApply(stage)) {
        const then =
          "an apply has no limit: the status says so, and that it goes on; once woken it ends";
        return { is: "stalled", then };
      }
      return recovered("it is ended at the stage's limit, and a new attempt is made");
    case "engine-killed":
      return recovered("the run goes on meanwhile and is found again");
    case "disk-full":
      return recovered("the run fails or is lost; with room it goes through");
    case "door-broken":
    case "door-silent":
      if (stage === "workspace")
        return recovered("the object has a backend of its own: not touched");
      if (stage === "health") return recovered("the checks do without the door: not touched");
      if (stage === "show")
        return recovered("the plan is made without it; the next run waits for it");
      if (isApply(stage)) return recovered("the apply waits, and hands its state in afterwards");
      return recovered("it is ended at the stage's limit, and a new attempt is made");
    case "source-silent":
      return recovered(
        stage === "artifact"
          ? "the run goes on; a new commit is found once the source answers"
          : "the run goes on as if nothing were",
      );
    case "clock-jumps":
      return recovered("the run goes on as if nothing were");
  }
}

function isAfterApply(stage: StageName): boolean {
  return stage === "outputs" || stage === "health";
}

/** Stages in which resources are made or destroyed. */
export function isApply(stage: StageName): boolean {
  return stage === "apply" || stage === "destroy";
}
