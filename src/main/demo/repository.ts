import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What the demo's repository needs to know of the world around it. */
export interface DemoPlaces {
  /** Folder of the Git repository. */
  readonly repository: string;
  /** Every resource appends a line to it when it is really created. */
  readonly effects: string;
  /** Where the module server answers, such as http://127.0.0.1:40123. */
  readonly modules: string;
}

/** Names of the objects, in the order in which they can become ready. */
export const demoObjects = ["network", "catalogue", "database", "app"] as const;
export type DemoName = (typeof demoObjects)[number];

/** How many resources each object creates; each leaves exactly one line in the effects file. */
export const demoResources: Readonly<Record<DemoName, number>> = {
  network: 2,
  catalogue: 1,
  database: 3,
  app: 1,
};

const manifests = `# What Nigari keeps applied. Everything else is in the modules beside this file.
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: infra
spec:
  url: .
  interval: 10s
  ref: { branch: main }
---
apiVersion: v1
kind: Secret
metadata:
  name: team
stringData:
  owner: storage-team
  password: correct-horse-battery-staple
---
# Outputs go to a Secret; a variable comes from one.
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: network
spec:
  interval: 10m
  approvePlan: auto
  path: network
  sourceRef: { kind: GitRepository, name: infra }
  varsFrom: [{ kind: Secret, name: team, varsKeys: [owner] }]
  writeOutputsToSecret: { name: network-outputs }
---
# Its module lies on a server that answers slowly: a long init.
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: catalogue
spec:
  interval: 10m
  approvePlan: auto
  path: catalogue
  sourceRef: { kind: GitRepository, name: infra }
---
# Depends on the network, takes its outputs, and has a resource that takes its time.
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: database
spec:
  interval: 10m
  approvePlan: auto
  path: database
  sourceRef: { kind: GitRepository, name: infra }
  dependsOn: [{ name: network }]
  varsFrom:
    - { kind: Secret, name: network-outputs, varsKeys: ["id:network_id"] }
    - { kind: Secret, name: team, varsKeys: [password] }
  writeOutputsToSecret: { name: database-outputs }
---
# Waits for a person.
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: app
spec:
  interval: 10m
  path: app
  sourceRef: { kind: GitRepository, name: infra }
  dependsOn: [{ name: database }]
  varsFrom: [{ kind: Secret, name: database-outputs, varsKeys: [url] }]
`;

/** A resource that is created once, takes \`seconds\`, and leaves a line in the effects file. */
function resource(name: string, places: DemoPlaces, options: Resource = {}): string {
  const { input = '"made"', seconds = 0, after } = options;
  const sleep = seconds > 0 ? `sleep ${seconds}; ` : "";
  const wait = after === undefined ? "" : `\n  depends_on = [terraform_data.${after}]`;
  return `
resource "terraform_data" "${name}" {
  input = ${input}${wait}
  provisioner "local-exec" {
    command = "${sleep}echo ${name} >> '${places.effects}'"
  }
}
`;
}
interface Resource {
  readonly input?: string;
  readonly seconds?: number;
  readonly after?: string;
}

const variable = (name: string, sensitive = false) =>
  `variable "${name}" {\n  type = string\n${sensitive ? "  sensitive = true\n" : ""}}\n`;
const output = (name: string, value: string, sensitive = false) =>
  `\noutput "${name}" {\n  value = ${value}\n${sensitive ? "  sensitive = true\n" : ""}}\n`;

function files(places: DemoPlaces): Record<string, string> {
  const archive = `${places.modules}/labels.tar.gz`;
  return {
    "objects.yaml": manifests,
    "network/main.tf":
      variable("owner") +
      resource("network", places, { input: 'format("10.20.0.0/16 of %s", var.owner)' }) +
      resource("gateway", places, { after: "network" }) +
      output("id", "terraform_data.network.id"),
    "catalogue/main.tf":
      `module "labels" {\n  source = "${archive}"\n}\n` +
      resource("catalogue", places, { input: "module.labels.label" }),
    "database/main.tf":
      variable("network_id") +
      variable("password", true) +
      resource("disk", places, { input: "var.network_id" }) +
      resource("server", places, { after: "disk", seconds: 8 }) +
      resource("backup", places, { after: "server" }) +
      output("url", 'format("db://%s", terraform_data.server.id)') +
      output("password", "var.password", true),
    "app/main.tf": variable("url") + resource("app", places, { input: "var.url" }),
  };
}

/** Makes the Git repository, with one commit on branch main. */
export function makeRepository(places: DemoPlaces): void {
  for (const [path, text] of Object.entries(files(places))) {
    const file = join(places.repository, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const author = ["-c", "user.name=Demo", "-c", "user.email=demo@example.org"];
  const git = (...args: string[]) =>
    execFileSync("git", [...author, ...args], { cwd: places.repository, stdio: "pipe" });
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-q", "-m", "Describe the demo's infrastructure");
}
