import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ApiServer } from "../../../src/testing/cluster/api-server.ts";
import { CommandLine, type Ended, type RunOptions } from "./command-line.ts";

type User = keyof ApiServer["tokens"];

/** `nigari` as a person of a cluster calls it: a kubeconfig, and nothing kept on the machine. */
export class ClusterLine {
  readonly #line: CommandLine;
  readonly #folder: string;

  constructor(server: ApiServer, folder: string, namespace: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.#line = new CommandLine(folder);
    for (const user of ["admin", "viewer", "reader"] as const) {
      writeFileSync(this.kubeconfig(user), kubeconfigText(server, user, namespace));
    }
  }

  kubeconfig(user: User): string {
    return join(this.#folder, `${user}.kubeconfig`);
  }

  /** As the administrator, unless the options' environment says else. */
  async run(words: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const env = { KUBECONFIG: this.kubeconfig("admin"), NIGARI_DATA_DIR: "", ...options.env };
    return await this.#line.run(words, { ...options, env });
  }

  async as(user: User, ...words: string[]): Promise<Ended> {
    return await this.run(words, { env: { KUBECONFIG: this.kubeconfig(user) } });
  }

  close(): void {
    this.#line.close();
  }
}

/** JSON is YAML. */
function kubeconfigText(server: ApiServer, user: User, namespace: string): string {
  const ca = Buffer.from(server.ca).toString("base64");
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user, namespace } }],
    clusters: [
      { name: "test", cluster: { server: server.url, "certificate-authority-data": ca } },
      { name: "away", cluster: { server: "https://127.0.0.1:1" } },
    ],
    users: [{ name: user, user: { token: server.tokens[user] } }],
  });
}
