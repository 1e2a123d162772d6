import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TerraformSpec } from "../../api/terraform.ts";

/** A value that stands in a Secret and in a sensitive variable of every object under test. */
export const SECRET = "swordfish-of-the-harness";

/** What takes a runner long enough to extract that it can be met there. */
const PADDING_BYTES = 96 << 20;

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

  /** An object's module and manifest. What is applied by itself is the default. */
  write({ name, files, spec, padded, more }: Holding): void {
    const repository = padded ? "padded" : "plain";
    const folder = join(this.#repository(repository), name);
    mkdirSync(folder, { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      writeFileSync(join(folder, path), `${text}\n${variables}\n${more}`);
    }
    this.put(name, {
      apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
      kind: "Terraform",
      metadata: { name },
      spec: {
        interval: "1h",
        retryInterval: "5s",
        approvePlan: "auto",
        path: name,
        sourceRef: { kind: "GitRepository", name: repository },
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

  readonly #repositories = new Map<string, string>();

  #repository(name: "plain" | "padded"): string {
    const known = this.#repositories.get(name);
    if (known !== undefined) return known;
    const folder = join(this.#folder, name);
    mkdirSync(folder, { recursive: true });
    git(folder, "init", "-q", "-b", "main");
    if (name === "padded") {
      writeFileSync(join(folder, "padding"), Buffer.alloc(PADDING_BYTES, "nigari "));
    }
    this.#repositories.set(name, folder);
    this.put(`repository-${name}`, {
      apiVersion: "source.toolkit.fluxcd.io/v1",
      kind: "GitRepository",
      metadata: { name },
      spec: { url: `file://${folder}`, interval: "2s", ref: { branch: "main" } },
    });
    return folder;
  }
}

function git(folder: string, ...args: string[]): string {
  const author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
  return execFileSync("git", [...author, ...args], { cwd: folder, encoding: "utf8" });
}
