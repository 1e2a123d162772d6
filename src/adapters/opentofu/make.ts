import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { CommandError, type CommandResult, runCommand } from "../../processes/command.ts";
import { lockFolder } from "./build-lock.ts";
import { BuildError, checkGo } from "./go.ts";
import type { GoProgram } from "./programs.ts";
import type { BuildProgress, BuildStep } from "./progress.ts";

export interface MakeOptions {
  /** Where the program goes: see `toolsFolder`. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly onProgress: (progress: BuildProgress) => void;
}

/** Slow machines and slow networks included. */
const BUILD_LIMIT_MS = 60 * 60_000;
const TICK_MS = 1_000;
/** Lines of Go's complaint that are shown. */
const SHOWN_LINES = 15;

/**
 * Builds a program unless it is there already for the very same pins, and answers with its path.
 * It appears whole or not at all; two that ask at once build once. Fails with BuildError, which
 * names the mend.
 */
export async function makeProgram(
  program: GoProgram,
  options: MakeOptions,
  call: Call,
): Promise<string> {
  const target = join(options.folder, program.target);
  if (await isMade(program, options.folder)) return target;
  await mkdir(join(options.folder, "stamps"), { recursive: true });
  await mkdir(dirname(target), { recursive: true });

  const report = reporter(program, options);
  const unlock = await lockFolder(
    options.folder,
    options.clock,
    () => report({ name: "waiting" }),
    call,
  );
  try {
    if (await isMade(program, options.folder)) return target;
    await removeLeftovers(target);
    const building = join(dirname(target), `${prefix(target)}${randomBytes(4).toString("hex")}`);
    try {
      await build(program, { options, building, report }, call);
      // Until the stamp is written the program counts as not made: first the old stamp goes.
      await rm(stampFile(program, options.folder), { force: true });
      await chmod(building, 0o755);
      await rename(building, target);
      await writeFile(stampFile(program, options.folder), program.stamp);
    } finally {
      await rm(building, { force: true });
    }
    report({ name: "done", path: target });
    return target;
  } finally {
    report.end();
    unlock();
  }
}

/** Whether the program is there, built from these pins. */
export async function isMade(program: GoProgram, folder: string): Promise<boolean> {
  try {
    const files = await readdir(dirname(join(folder, program.target)));
    const stamp = await readFile(stampFile(program, folder), "utf8");
    return files.includes(basename(program.target)) && stamp === program.stamp;
  } catch {
    return false;
  }
}

function stampFile(program: GoProgram, folder: string): string {
  return join(folder, "stamps", program.id);
}

function prefix(target: string): string {
  return `.${basename(target)}.building-`;
}

/** What builders left that were killed; we hold the lock, so nobody is writing there. */
async function removeLeftovers(target: string): Promise<void> {
  for (const name of await readdir(dirname(target))) {
    if (name.startsWith(prefix(target))) await rm(join(dirname(target), name), { force: true });
  }
}

type Report = ((step: BuildStep) => void) & { end(): void };

/** Passes steps on, and repeats the last one every second, so that nobody takes it for dead. */
function reporter(program: GoProgram, { clock, onProgress }: MakeOptions): Report {
  const begun = clock.monotonic();
  let last: BuildStep | undefined;
  const send = (step: BuildStep) => {
    last = step;
    onProgress({ title: program.title, step, elapsedMs: clock.monotonic() - begun });
  };
  const timer = setInterval(() => last && send(last), TICK_MS);
  let sentMs = Number.NEGATIVE_INFINITY;
  const report = (step: BuildStep) => {
    // Hundreds of packages a second may go by; a person reads ten lines at most.
    const now = clock.monotonic();
    if (last?.name === step.name && now - sentMs < 100) {
      last = step;
      return;
    }
    sentMs = now;
    send(step);
  };
  return Object.assign(report, { end: () => clearInterval(timer) });
}

interface Site {
  readonly options: MakeOptions;
  /** File that the program is written to. */
  readonly building: string;
  readonly report: Report;
}

async function build(program: GoProgram, site: Site, call: Call): Promise<void> {
  const env = goEnvironment(site.options.env);
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(BUILD_LIMIT_MS)]);
  await checkGo(program, env, { signal });

  let modules = 0;
  site.report({ name: "downloading", modules });
  const list = await go(["list", "-deps", program.package], program, {
    env,
    signal,
    onLine: (line) => {
      if (line.startsWith("go: downloading "))
        site.report({ name: "downloading", modules: ++modules });
    },
  });
  const total = list.stdout.toString().trim().split("\n").length;

  let done = 0;
  site.report({ name: "compiling", done, total });
  const flags = ["-v", "-trimpath", "-ldflags", program.linkerFlags, "-o", site.building];
  await go(["build", ...flags, program.package], program, {
    env,
    signal,
    onLine: (line) => {
      // With -v Go names each package when its compilation begins; the program itself is the last.
      if (line === program.package) site.report({ name: "linking" });
      else if (!line.includes(" ")) site.report({ name: "compiling", done: ++done, total });
    },
  });
}

interface GoCall {
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

async function go(args: string[], program: GoProgram, call: GoCall): Promise<CommandResult> {
  const lines = new Lines(call.onLine);
  let result: CommandResult;
  try {
    result = await runCommand(
      {
        file: "go",
        args,
        cwd: program.moduleFolder,
        env: call.env,
        onStderr: (chunk) => lines.add(chunk),
      },
      { signal: call.signal },
    );
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new BuildError(`Building ${program.title} stopped: ${error.message}`, { cause: error });
  }
  if (result.code === 0) return result;
  const how = result.code === undefined ? `signal ${result.signal}` : `exit code ${result.code}`;
  const complaint = lines.complaints.slice(-SHOWN_LINES).join("\n  ");
  throw new BuildError(
    `Building ${program.title} failed: "go ${args[0]}" ended with ${how}:\n  ${complaint}\n` +
      "See that there is room on the disk and that Go reaches its module proxy (GOPROXY, " +
      "HTTPS_PROXY), or set NIGARI_TOFU to an OpenTofu you have",
  );
}

/** Splits stderr into lines; keeps the last of those that are no mere names or downloads. */
class Lines {
  readonly complaints: string[] = [];
  private readonly onLine: (line: string) => void;
  private rest = "";
  constructor(onLine: (line: string) => void) {
    this.onLine = onLine;
  }
  add(chunk: Buffer): void {
    const lines = (this.rest + chunk.toString("utf8")).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.includes(" ") && !line.startsWith("go: downloading ")) this.complaints.push(line);
      if (this.complaints.length > 200) this.complaints.splice(0, 100);
      this.onLine(line);
    }
  }
}

/**
 * A person's Go settings (proxy, caches, certificates) pass; what would make another program of it
 * does not.
 */
function goEnvironment(env: MakeOptions["env"]): Record<string, string> {
  const passed = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !/^(GOOS|GOARCH|GOEXPERIMENT|GO(AMD|ARM|386).*|TF_.*)$/.test(entry[0]),
  );
  return {
    ...Object.fromEntries(passed),
    CGO_ENABLED: "0",
    // The checkout's own Git state is none of the build's business, nor a workspace around it.
    GOFLAGS: "-buildvcs=false",
    GOWORK: "off",
  };
}
