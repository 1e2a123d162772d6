import type { Command } from "commander";
import type { Context } from "../context.ts";

/** Runs what a verb does on the world that the flags name. */
type Verb = (command: Command, run: (context: Context) => Promise<number>) => Promise<void>;

/** nigari state list|history|show */
export function addStateReading(state: Command, verb: Verb): void {
  state
    .command("list")
    .description("all states, or all kept versions of one")
    .argument("[name]")
    .option("--workspace <name>", "workspace; the object's own without it")
    .action(async (name, options, command: Command) => {
      const { stateList } = await import("./state.ts");
      await verb(command, (context) => stateList(context, name, options));
    });
  state
    .command("history")
    .description("all kept versions of a state, newest first")
    .argument("<name>")
    .option("--workspace <name>", "workspace; the object's own without it")
    .action(async (name, options, command: Command) => {
      const { stateHistory } = await import("./state.ts");
      await verb(command, (context) => stateHistory(context, name, options));
    });
  state
    .command("show")
    .description("a state's JSON (it may hold secrets)")
    .argument("<name>")
    .option("--workspace <name>", "workspace; the object's own without it")
    .option("--version <id>", "an older version, or one kept aside")
    .action(async (name, options, command: Command) => {
      const { stateShow } = await import("./state.ts");
      await verb(command, (context) => stateShow(context, name, options));
    });
}

/** nigari state push|rollback|unlock|accept */
export function addStateChanging(state: Command, verb: Verb): void {
  state
    .command("push")
    .description("make a file, or a version kept aside, the current state")
    .argument("<name>")
    .argument("[file]", "a state file, or - for standard input")
    .option("--workspace <name>", "workspace; the object's own without it")
    .option("--accept <id>", "a version kept aside")
    .option("--drop <id>", "forget a version kept aside")
    .option("--force", "without a look at lineage, serial and the object", false)
    .action(async (name, file, options, command: Command) => {
      const { statePush } = await import("./state.ts");
      await verb(command, (context) => statePush(context, name, file, options));
    });
  state
    .command("rollback")
    .description("make an earlier version current once more, with a higher serial")
    .argument("<name>")
    .argument("<version>", "its id, as history shows it")
    .option("--workspace <name>", "workspace; the object's own without it")
    .option("--force", "also to another lineage", false)
    .action(async (name, version, options, command: Command) => {
      const { stateRollback } = await import("./state.ts");
      await verb(command, (context) => stateRollback(context, name, version, options));
    });
  state
    .command("unlock")
    .description("release a lock whose holder is dead on proof; one that lives is named")
    .argument("<name>")
    .argument("[lock]", "its id; refused if another is held by now")
    .option("--workspace <name>", "workspace; the object's own without it")
    .action(async (name, lock, options, command: Command) => {
      const { stateUnlock } = await import("./state.ts");
      await verb(command, (context) => stateUnlock(context, name, lock, options));
    });
  state
    .command("accept")
    .description("say that a state which changed behind our back is the right one")
    .argument("<name>")
    .action(async (name, _options, command: Command) => {
      const { stateAccept } = await import("./state.ts");
      await verb(command, (context) => stateAccept(context, name));
    });
}
