import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../api/duration.ts";
import { EngineUnavailable } from "../ports/engine.ts";
import { isStoreError } from "../ports/object-store.ts";
import type { ClusterParts } from "./cluster/parts.ts";
import { addCluster } from "./commands/cluster-verbs.ts";
import type { DoctorParts } from "./commands/doctor.ts";
import { addDoctor } from "./commands/doctor-verbs.ts";
import { addLesson } from "./commands/lesson-verbs.ts";
import { addRunbook } from "./commands/runbook-verbs.ts";
import { addStateChanging, addStateReading } from "./commands/state-verbs.ts";
import type { WaitFlags } from "./commands/wait.ts";
import { type CommonFlags, type Context, withWorld } from "./context.ts";
import { outputForm } from "./output-flag.ts";
import { CliError, EXIT, type Shell } from "./world.ts";

export type ProgramParts = DoctorParts & ClusterParts;

/**
 * Runs one command line and answers with its exit code. The commands' code is loaded when they
 * run, so that --help stays quick.
 */
export async function runCommandLine(
  parts: ProgramParts,
  words: readonly string[],
): Promise<number> {
  const { shell } = parts;
  const { out } = shell;
  let code: number = EXIT.ok;
  const program = build(parts, words, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (shell.interrupted.aborted) return EXIT.interrupted;
    if (error instanceof CliError) {
      out.error(`nigari: ${error.message}\n`);
      return error.exitCode;
    }
    out.error(`nigari: ${error instanceof Error ? error.message : String(error)}\n`);
    return isUnreachable(error) ? EXIT.unreachable : EXIT.failed;
  }
}

/** The engine, or what it keeps, does not answer now. */
function isUnreachable(error: unknown): boolean {
  return error instanceof EngineUnavailable || isStoreError(error, "Unavailable");
}

type Done = (code: number) => void;

function build(parts: ProgramParts, words: readonly string[], done: Done): Command {
  const { shell } = parts;
  // Behind a verb the word is the verb's: state show has a flag of that name.
  const ours = words[0] === "--version" || !words.includes("--version");
  const program = new Command("nigari")
    .description(
      "Reconciles Terraform objects with OpenTofu, cannot wedge, and says what is wrong.",
    )
    .version(shell.version, ours ? "-V, --version" : "-V")
    .option("-n, --namespace <name>", "namespace (default: that of the context, or default)")
    .option("--data-dir <folder>", "data directory (NIGARI_DATA_DIR)")
    .option("--kubeconfig <file>", "the cluster of this kubeconfig, not of KUBECONFIG")
    .option("--context <name>", "the cluster of this context of the kubeconfig")
    .option("-o, --output <form>", "table, json or yaml (default: table)")
    .configureOutput({
      writeOut: (text) => shell.out.write(text),
      writeErr: (text) => shell.out.error(text),
    })
    .showHelpAfterError('("nigari --help" lists the commands)')
    .exitOverride();
  for (const add of [addUp, addRead, addAct, addPlan, addState, addVersion]) {
    add(program, shell, done);
  }
  addCluster({ program, parts, common, done });
  addDoctor(program, parts, done);
  addRunbook(program, shell, done);
  addLesson(program, parts, done);
  for (const command of program.commands) inherit(command);
  return program;
}

/** Global flags may stand behind the verb too, as people type them. */
function inherit(command: Command): void {
  command.copyInheritedSettings(command.parent ?? command);
  for (const each of command.commands) inherit(each);
}

/** The flags shared by all verbs, checked. */
function common(command: Command): CommonFlags {
  const { namespace, dataDir, kubeconfig, context } = command.optsWithGlobals<CommonFlags>();
  const output = outputForm(command, ["table", "json", "yaml"], "table");
  return { namespace, dataDir, kubeconfig, context, output };
}

const durationMs = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) {
    throw new InvalidArgumentError("Write a number with a unit, such as 30s or 10m.");
  }
  return ms;
};
const loopback = (text: string): string => {
  if (/^(127\.0\.0\.1|localhost|\[::1\]):\d{1,5}$/.test(text)) return text;
  throw new InvalidArgumentError("Write 127.0.0.1:PORT, [::1]:PORT or localhost:PORT.");
};
const count = (text: string): number => {
  if (!/^\d+$/.test(text) || Number(text) < 1) throw new InvalidArgumentError("Write 1 or more.");
  return Number(text);
};

function addUp(program: Command, shell: Shell, done: Done): void {
  program
    .command("up")
    .description("keep the manifests of a folder or Git repository applied, until Ctrl-C")
    .argument("<dir|git-url>", "folder, or https, ssh or file URL")
    .option("--ref <ref>", "branch, tag or commit of a Git URL")
    .option("--path <folder>", "folder of the manifests below it")
    .option("--poll <duration>", "how often a Git URL is looked at", durationMs, 60_000)
    .option("--token-file <file>", "https token of a Git URL (or NIGARI_GIT_TOKEN)")
    .option("--identity-file <file>", "ssh key of a Git URL; your own agent without it")
    .option("--known-hosts-file <file>", "known hosts of a Git URL; your own without it")
    .option("--concurrent <n>", "runs at once", count, 4)
    .option("--pass-env <patterns>", "environment handed to OpenTofu, e.g. 'AWS_*,KUBECONFIG'", "")
    .option("--prune", "delete objects whose manifest has vanished", false)
    .option("--wait", "at Ctrl-C wait for the runs under way", false)
    .option("--listen <address>", "also answer on 127.0.0.1:PORT, with a token", loopback)
    .addOption(
      new Option("--lost-apply <what>", "an apply whose runner does not answer for 30s")
        .choices(["interrupt", "wait"])
        .default("interrupt"),
    )
    .action(async (from: string, options, command: Command) => {
      refuseCluster(command);
      done(
        await shell.up({
          from,
          dataDir: common(command).dataDir,
          passEnv: String(options.passEnv)
            .split(",")
            .filter((each) => each !== ""),
          prune: options.prune,
          wait: options.wait,
          concurrent: options.concurrent,
          lostApply: options.lostApply,
          listen: options.listen,
          ref: options.ref,
          path: options.path,
          pollMs: options.poll,
          tokenFile: options.tokenFile,
          identityFile: options.identityFile,
          knownHostsFile: options.knownHostsFile,
        }),
      );
    });
}

/** The engine of a cluster is a Deployment; this one would work on the machine's own objects. */
function refuseCluster(command: Command): void {
  const { kubeconfig, context } = common(command);
  if (kubeconfig === undefined && context === undefined) return;
  throw new CliError(
    EXIT.usage,
    "nigari up works on this machine, not on a cluster; leave --kubeconfig and --context out " +
      "(docs/kubernetes.md says how a cluster gets its controller)",
  );
}

function addRead(program: Command, shell: Shell, done: Done): void {
  const verb = async (command: Command, run: (context: Context) => Promise<number>) =>
    done(await withWorld(shell, common(command), run));
  program
    .command("get")
    .description("list objects, or show one")
    .argument(
      "[kind-or-name]",
      "terraform (default), gitrepository, secret, configmap, event, lease",
    )
    .argument("[name]")
    .option("-A, --all-namespaces", "all namespaces", false)
    .option("-w, --watch", "go on with what changes", false)
    .option("--reveal", "show the values of Secrets with -o", false)
    .action(async (kind, name, options, command: Command) => {
      const words = [kind, name].filter((word) => word !== undefined);
      if (options.watch) {
        const { getWatch } = await import("./commands/watch.ts");
        return await verb(command, (context) => getWatch(context, words, options));
      }
      const { get } = await import("./commands/read.ts");
      await verb(command, (context) => get(context, words, options));
    });
  program
    .command("describe")
    .description("all about one object: what it waits for, until when, and what happens then")
    .argument("<name>")
    .action(async (name, _options, command: Command) => {
      const { describe } = await import("./commands/read.ts");
      await verb(command, (context) => describe(context, name));
    });
  program
    .command("events")
    .description("what has happened")
    .argument("[name]")
    .option("-A, --all-namespaces", "all namespaces", false)
    .action(async (name, options, command: Command) => {
      const { events } = await import("./commands/read.ts");
      await verb(command, (context) => events(context, name, options));
    });
  program
    .command("logs")
    .description("log lines of an object's runs")
    .argument("<name>")
    .option("-f, --follow", "go on with what comes", false)
    .option("--tail <n>", "only the newest lines", count)
    .option("--run <id>", "only this run")
    .action(async (name, options, command: Command) => {
      const { logs } = await import("./commands/read.ts");
      await verb(command, (context) => logs(context, name, options));
    });
}

const waitable = (command: Command) =>
  command
    .option("--wait", "watch until nothing is under way", false)
    .option("--timeout <duration>", "how long --wait watches at most", durationMs, 3_600_000);
const waitFlags = (options: { wait: boolean; timeout: number }): WaitFlags => ({
  wait: options.wait,
  timeoutMs: options.timeout,
});

function addAct(program: Command, shell: Shell, done: Done): void {
  const verb = async (command: Command, run: (context: Context) => Promise<number>) =>
    done(await withWorld(shell, common(command), run));
  program
    .command("apply")
    .description("write manifests into the store")
    .requiredOption("-f, --filename <path...>", "file, folder, or - for standard input")
    .action(async (options, command: Command) => {
      const { apply } = await import("./commands/apply.ts");
      await verb(command, (context) => apply(context, options.filename));
    });
  waitable(program.command("reconcile").description("look at an object now"))
    .argument("<name>")
    .action(async (name, options, command: Command) => {
      const { reconcile } = await import("./commands/act.ts");
      await verb(command, (context) => reconcile(context, name, waitFlags(options)));
    });
  waitable(program.command("approve").description("approve the plan that was shown"))
    .argument("<name>")
    .argument("[plan]", "its id; refused if another plan is pending by now")
    .action(async (name, plan, options, command: Command) => {
      const { approve } = await import("./commands/act.ts");
      await verb(command, (context) => approve(context, name, plan, waitFlags(options)));
    });
  waitable(program.command("replan").description("make a new plan in the place of the pending one"))
    .argument("<name>")
    .action(async (name, options, command: Command) => {
      const { replan } = await import("./commands/act.ts");
      await verb(command, (context) => replan(context, name, waitFlags(options)));
    });
  for (const on of [true, false]) {
    program
      .command(on ? "suspend" : "resume")
      .description(on ? "leave an object alone" : "look after it again")
      .argument("<name>")
      .action(async (name, _options, command: Command) => {
        const { suspend } = await import("./commands/act.ts");
        await verb(command, (context) => suspend(context, name, on));
      });
  }
  waitable(program.command("end-run").description("end the run that is under way"))
    .argument("<name>")
    .argument("[run]", "its id; refused if another run is under way by now")
    .action(async (name, run, options, command: Command) => {
      const { endRun } = await import("./commands/act.ts");
      await verb(command, (context) => endRun(context, name, run, waitFlags(options)));
    });
  waitable(program.command("delete").description("delete an object"))
    .argument("<kind-or-name>", "kind and name, kind/name, or the name of a Terraform object")
    .argument("[name]")
    .option("--orphan", "leave its resources, also if it is being deleted already", false)
    .action(async (kind, name, options, command: Command) => {
      const { remove } = await import("./commands/act.ts");
      const words = [kind, name].filter((word) => word !== undefined);
      await verb(command, (context) =>
        remove(context, words, { ...waitFlags(options), orphan: options.orphan }),
      );
    });
}

function addPlan(program: Command, shell: Shell, done: Done): void {
  program
    .command("plan")
    .description("pending plans")
    .command("show")
    .description("the pending plan as OpenTofu shows it")
    .argument("<name>")
    .action(async (name, _options, command: Command) => {
      const { planShow } = await import("./commands/plan.ts");
      done(await withWorld(shell, common(command), (context) => planShow(context, name)));
    });
}

function addState(program: Command, shell: Shell, done: Done): void {
  const verb = async (command: Command, run: (context: Context) => Promise<number>) =>
    done(await withWorld(shell, common(command), run));
  const state = program.command("state").description("states that Nigari keeps");
  addStateReading(state, verb);
  addStateChanging(state, verb);
}

function addVersion(program: Command, shell: Shell, done: Done): void {
  program
    .command("version")
    .description("the version of this program")
    .action(async (_options, command: Command) => {
      const { output } = common(command);
      const { version } = shell;
      if (output === "table") shell.out.write(`nigari ${version}\n`);
      else {
        const { inForm } = await import("./commands/read.ts");
        shell.out.write(inForm(output, { version }));
      }
      done(EXIT.ok);
    });
}
