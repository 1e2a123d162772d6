import { keyOf } from "../../api/kinds.ts";
import {
  ACCEPT,
  APPLIED_BY,
  DELETION_POLICY,
  END_RUN,
  REPLAN,
  REQUESTED_AT,
} from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import { type Context, change, keyIn, mustGet, wordIn } from "../context.ts";
import { target } from "../kinds.ts";
import { CliError, EXIT, type World } from "../world.ts";
import { type WaitFlags, waitForRest } from "./wait.ts";

/** nigari reconcile NAME: asks for a pass now. */
export async function reconcile(context: Context, name: string, flags: WaitFlags): Promise<number> {
  const object = await mustGet(context, "Terraform", name);
  if (object.spec.suspend === true) {
    const word = wordIn(context, keyOf(object));
    throw new CliError(
      EXIT.failed,
      `${word} is suspended, so nothing would happen; "nigari resume ${word}" ends that`,
    );
  }
  await request(context, name, () => {});
  context.shell.out.write(`Reconcile requested for ${keyIn(context, name).namespace}/${name}\n`);
  return finish(context, name, flags);
}

/** nigari replan NAME: a new plan in the place of the pending one, and retries count anew. */
export async function replan(context: Context, name: string, flags: WaitFlags): Promise<number> {
  await request(context, name, (object, at) => {
    object.metadata.annotations = { ...object.metadata.annotations, [REPLAN]: at };
  });
  context.shell.out.write(`New plan requested for ${wordIn(context, keyIn(context, name))}\n`);
  return finish(context, name, flags);
}

/** Asks for a pass, with another change in the same write. */
async function request(
  context: Context,
  name: string,
  edit: (object: Terraform, at: string) => void,
): Promise<void> {
  const at = new Date(context.shell.clock.now()).toISOString();
  await change(context, name, (object) => {
    object.metadata.annotations = { ...object.metadata.annotations, [REQUESTED_AT]: at };
    edit(object, at);
  });
}

async function finish(context: Context, name: string, flags: WaitFlags): Promise<number> {
  if (!context.world.engineRuns) return later(context, flags);
  const object = await context.world.store.get(
    { kind: "Terraform", ...keyIn(context, name) },
    context.call(),
  );
  if (object?.spec.suspend === true && object.status?.run === undefined) {
    const word = wordIn(context, keyOf(object));
    context.shell.out.error(`${word} is suspended; it is done after "nigari resume ${word}"\n`);
    return flags.wait ? EXIT.failed : EXIT.ok;
  }
  return flags.wait ? waitForRest(context, name, flags) : EXIT.ok;
}

/** Without an engine nothing happens now, and there is nothing to wait for. */
function later({ shell, world }: Context, flags: WaitFlags): number {
  shell.out.error(`${noEngine(world)}\n`);
  return flags.wait ? EXIT.unreachable : EXIT.ok;
}

/** What is said of an order that nobody carries out now. */
export function noEngine(world: World): string {
  return world.noEngine ?? 'No engine runs; it is done at the next "nigari up"';
}

/** nigari approve NAME [PLAN]: exactly the plan that was shown. */
export async function approve(
  context: Context,
  name: string,
  planId: string | undefined,
  flags: WaitFlags,
): Promise<number> {
  const object = await mustGet(context, "Terraform", name);
  const word = wordIn(context, keyOf(object));
  const pending = object.status?.plan?.pending ?? "";
  if (pending === "") {
    throw new CliError(
      EXIT.failed,
      `No plan is pending for ${word}; "nigari describe ${word}" says why`,
    );
  }
  if (planId !== undefined && planId !== pending) {
    throw new CliError(
      EXIT.failed,
      `The pending plan is ${pending}, not ${planId}; look at it with "nigari plan show ${word}"`,
    );
  }
  const { approvePlan, force, planOnly } = object.spec;
  if (planOnly === true && force !== true) {
    throw new CliError(
      EXIT.failed,
      `${word} is in the plan only mode, so nothing would be applied; set spec.planOnly to false`,
    );
  }
  const byItself = approvePlan === "auto" || force === true;
  await request(context, name, (each) => {
    if (each.status?.plan?.pending !== pending) {
      throw new CliError(
        EXIT.failed,
        `The plan moved on to ${each.status?.plan?.pending ?? "none"}`,
      );
    }
    // An object that approves by itself and yet waits was stopped for a person's word.
    if (byItself) {
      each.metadata.annotations = { ...each.metadata.annotations, [ACCEPT]: pending };
    } else each.spec.approvePlan = pending;
  });
  context.shell.out.write(`Approved ${pending} of ${name}\n`);
  return finish(context, name, flags);
}

/** nigari suspend|resume NAME */
export async function suspend(context: Context, name: string, on: boolean): Promise<number> {
  await request(context, name, (object) => {
    object.spec.suspend = on;
  });
  context.shell.out.write(`${on ? "Suspended" : "Resumed"} ${name}\n`);
  return context.world.engineRuns ? EXIT.ok : later(context, { wait: false, timeoutMs: 0 });
}

/**
 * nigari end-run NAME [RUN]: a person's order, for this very run. An apply that answers is asked to
 * stop first; one that does not is ended, whatever it was about to write.
 */
export async function endRun(
  context: Context,
  name: string,
  runId: string | undefined,
  flags: WaitFlags,
): Promise<number> {
  const word = wordIn(context, keyOf(await mustGet(context, "Terraform", name)));
  let ordered = "";
  await change(context, name, (object) => {
    const run = object.status?.run;
    if (run === undefined) {
      throw new CliError(EXIT.failed, `No run of ${word} is under way; there is nothing to end`);
    }
    if (runId !== undefined && runId !== run.id) {
      throw new CliError(EXIT.failed, `Run ${run.id} is under way for ${word}, not ${runId}`);
    }
    ordered = `${run.id} (${run.operation}, stage ${run.stage})`;
    object.metadata.annotations = { ...object.metadata.annotations, [END_RUN]: run.id };
  });
  context.shell.out.write(`Ordered the end of run ${ordered} of ${word}\n`);
  return finish(context, name, flags);
}

/** nigari delete NAME [--orphan] [--wait] */
export async function remove(
  context: Context,
  words: readonly string[],
  flags: WaitFlags & { readonly orphan: boolean },
): Promise<number> {
  const { kind, name } = target(words);
  if (name === undefined) throw new CliError(EXIT.usage, "Which object? nigari delete NAME");
  if (flags.orphan && kind !== "Terraform") {
    throw new CliError(EXIT.usage, `A ${kind} has no resources; leave --orphan out`);
  }
  const object = await mustGet(context, kind, name);
  if (flags.orphan) {
    // Also on an object that is being deleted already, and is held up by its destroy.
    await change(context, name, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, [DELETION_POLICY]: "orphan" };
    });
  }
  // One that leaves already may be gone by now: its last word was all it waited for.
  if (object.metadata.deletionTimestamp === undefined || !flags.orphan) {
    const { uid } = object.metadata;
    const ref = { kind, ...keyIn(context, name) };
    await context.world.store.delete(ref, uid === undefined ? {} : { uid }, context.call());
  }
  context.shell.out.write(`Deletion of ${kind} ${name} requested\n`);
  if (object.metadata.labels?.[APPLIED_BY]?.startsWith("up-") === true) {
    context.shell.out.error(
      'It came from a manifest of "nigari up"; while that stands there, it is made anew\n',
    );
  }
  return kind === "Terraform" ? finish(context, name, flags) : EXIT.ok;
}
