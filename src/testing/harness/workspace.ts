import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Something a resource did to the world, as it wrote it down itself. */
export interface Effect {
  readonly runId: string;
  /** Address of the resource. */
  readonly resource: string;
  readonly action: "create" | "destroy";
}

/** A resource of the configuration under test; each depends on the one before it. */
export interface TestResource {
  readonly name: string;
  /** Its creation takes effect at once, and then waits for `passGate` with its name. */
  readonly gated?: boolean;
  /** Seconds its creation takes after its effect. */
  readonly seconds?: number;
  /** Its destruction takes effect at once, and then waits for `passGate` with `destroy-<name>`. */
  readonly destroyGated?: boolean;
}

const TYPE = "terraform_data";
/** What a gated resource waits at most, so that nothing of a failed test stays for ever. */
const GATE_S = 120;

/**
 * A configuration whose resources write down what they do in an append-only file outside of any
 * state: the judge of "applied once". The line is written by the resource's own command in the
 * run's working directory, so its path tells the run.
 */
export class Workspace {
  readonly folder: string;
  readonly #effects: string;
  readonly #gates: string;

  /** `folder` must not lie in a run's folder. */
  constructor(folder: string) {
    this.folder = folder;
    this.#effects = join(folder, "effects");
    this.#gates = join(folder, "gates");
    mkdirSync(this.#gates, { recursive: true });
    appendFileSync(this.#effects, "");
  }

  /** Files of the configuration by their path. */
  files(resources: readonly TestResource[]): Record<string, string> {
    const blocks = resources.map((resource, index) =>
      this.#block(resource, resources[index - 1]?.name),
    );
    const last = resources.at(-1)?.name;
    // Secret, so that OpenTofu is asked for it after an apply and can be struck then.
    const output = `output "last" {\n  value     = ${TYPE}.${last}.id\n  sensitive = true\n}\n`;
    return { "main.tf": [...blocks, last === undefined ? "" : output].join("\n") };
  }

  address(name: string): string {
    return `${TYPE}.${name}`;
  }

  /** Lets the gated resource of this name end. */
  passGate(name: string): void {
    writeFileSync(join(this.#gates, name), "");
  }
  closeGate(name: string): void {
    rmSync(join(this.#gates, name), { force: true });
  }

  effects(): Effect[] {
    const lines = readFileSync(this.#effects, "utf8").split("\n").filter(Boolean);
    return lines.map((line) => {
      const [action, resource = "", ...path] = line.split(" ");
      const runId = /\/runs\/([^/]+)\/work\b/.exec(path.join(" "))?.[1];
      if ((action !== "create" && action !== "destroy") || runId === undefined) {
        throw new Error(`No effect has the form of "${line}"`);
      }
      return { runId, resource, action };
    });
  }

  /** How often each resource took effect, by address; in one run or in all. */
  counts(runId?: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const effect of this.effects()) {
      if (runId !== undefined && effect.runId !== runId) continue;
      counts[effect.resource] = (counts[effect.resource] ?? 0) + 1;
    }
    return counts;
  }

  /** How often each action took effect, as `create terraform_data.one`; in one run or in all. */
  actions(runId?: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const effect of this.effects()) {
      if (runId !== undefined && effect.runId !== runId) continue;
      const text = `${effect.action} ${effect.resource}`;
      counts[text] = (counts[text] ?? 0) + 1;
    }
    return counts;
  }

  hasEffect(name: string, action: Effect["action"] = "create"): boolean {
    const resource = this.address(name);
    return this.effects().some((each) => each.resource === resource && each.action === action);
  }

  #block(resource: TestResource, before: string | undefined): string {
    const { name, gated, seconds, destroyGated } = resource;
    const wait: string[] = [];
    if (gated === true) wait.push(waitFor(join(this.#gates, name)));
    if (seconds !== undefined) wait.push(`sleep ${seconds}`);
    const note = (action: string, address: string, file: string) =>
      `echo "${action} ${address} $PWD" >>'${file}'`;
    const create = [note("create", this.address(name), this.#effects), ...wait].join("; ");
    // A destroy may only speak of the resource itself.
    const noted = note("destroy", `${TYPE}.\${self.input.name}`, `\${self.input.effects}`);
    const held = destroyGated === true ? [waitFor(`\${self.input.gates}/destroy-${name}`)] : [];
    const destroy = [noted, ...held].join("; ");
    const after = before === undefined ? "" : `  depends_on = [${TYPE}.${before}]\n`;
    return `resource "${TYPE}" "${name}" {
${after}  input = {
    name    = "${name}"
    effects = "${this.#effects}"
    gates   = "${this.#gates}"
  }
  provisioner "local-exec" {
    command = ${JSON.stringify(create)}
  }
  provisioner "local-exec" {
    when    = destroy
    command = ${JSON.stringify(destroy)}
  }
}
`;
  }
}

/** A command that ends once the file is there, or when its patience is over. */
function waitFor(file: string): string {
  const closed = `[ ! -e '${file}' ] && [ $i -lt ${GATE_S * 20} ]`;
  return `i=0; while ${closed}; do sleep 0.05; i=$((i+1)); done`;
}
