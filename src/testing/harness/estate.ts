import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { TerraformSpec } from "../../api/terraform.ts";

/** A value that stands in a Secret and in a sensitive variable of every object under test. */
export const SECRET = "swordfish-of-the-harness";

/** Files that take a runner long enough to extract that it can be met there. */
const PADDING_FILES = 6_000;

export interface Holding {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly spec: Partial<TerraformSpec>;
  readonly padded: boolean;
  readonly more: string;
}

const variables = `
variable "secret" {
  type      = string
  sensitive = true
}
output "secret" {
  value     = var.secret
  sensitive = true
}
`;

/**
 * What an engine under test looks after: Git repositories with a module per object, and a folder of
 * manifests, one file per object.
 */
export class Estate {
  readonly manifests: string;
  readonly #folder: string;
  #url = (folder: string) => `file://${folder}`;

  constructor(folder: string) {
    this.#folder = folder;
    this.manifests = join(folder, "manifests");
    mkdirSync(this.manifests, { recursive: true });
    this.put("secret", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "vars" },
      stringData: { secret: SECRET },
    });
  }

  /** Repositories are reached below this URL, from now on. */
  serveAt(url: string): void {
    this.#url = (folder) => `${url}/${basename(folder)}`;
  }

  get folder(): string {
    return this.#folder;
  }

  /** An object's module. */
  write({ name, files, padded, more }: Holding): void {
    const folder = join(this.#repository(repositoryOf(padded)), name);
    mkdirSync(folder, { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      writeFileSync(join(folder, path), `${text}\n${variables}\n${more}`);
    }
  }

  /** An object's manifest. What is applied by itself is the default. */
  want({ name, spec, padded }: Pick<Holding, "name" | "spec" | "padded">): void {
    this.put(name, {
      apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
      kind: "Terraform",
      metadata: { name },
      spec: {
        interval: "1h",
        retryInterval: "5s",
        approvePlan: "auto",
        path: name,
        sourceRef: { kind: "GitRepository", name: repositoryOf(padded) },
        varsFrom: [{ kind: "Secret", name: "vars", varsKeys: ["secret"] }],
        writeOutputsToSecret: { name: `${name}-outputs` },
        ...spec,
      },
    });
  }

  /** One manifest file; JSON is YAML. */
  put(name: string, manifest: unknown): void {
    this.putText(name, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  putText(name: string, text: string): void {
    writeFileSync(join(this.manifests, `${name}.yaml`), text);
  }
  remove(name: string): void {
    rmSync(join(this.manifests, `${name}.yaml`));
  }

  /** Commits what has changed in all repositories. */
  commit(): void {
    for (const folder of this.#repositories.values()) {
      git(folder, "add", ".");
      if (git(folder, "status", "--porcelain") === "") continue;
      git(folder, "commit", "-q", "-m", "Change what is wanted");
    }
  }

  /** A commit that changes nothing. */
  commitAnew(repository: "plain" | "padded"): void {
    git(this.#repository(repository), "commit", "-q", "--allow-empty", "-m", "Change nothing");
  }

  readonly #repositories = new Map<string, string>();

  #repository(name: "plain" | "padded"): string {
    const known = this.#repositories.get(name);
    if (known !== undefined) return known;
    const folder = join(this.#folder, name);
    mkdirSync(folder, { recursive: true });
    git(folder, "init", "-q", "-b", "main");
    if (name === "padded") {
      mkdirSync(join(folder, "padding"));
      for (let count = 0; count < PADDING_FILES; count += 1) {
        writeFileSync(join(folder, "padding", `${count}`), `${count}`);
      }
    }
    this.#repositories.set(name, folder);
    this.put(`repository-${name}`, {
      apiVersion: "source.toolkit.fluxcd.io/v1",
      kind: "GitRepository",
      metadata: { name },
      spec: { url: this.#url(folder), interval: "2s", timeout: "5s", ref: { branch: "main" } },
    });
    return folder;
  }
}

function repositoryOf(padded: boolean): "plain" | "padded" {
  return padded ? "padded" : "plain";
}

function git(folder: string, ...args: string[]): string {
  const author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
  return execFileSync("git", [...author, ...args], { cwd: folder, encoding: "utf8" });
}
