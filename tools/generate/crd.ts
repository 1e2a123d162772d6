import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { kinds } from "../../src/api/kinds.ts";
import { type Schema, structural } from "./structural.ts";

const root = join(import.meta.dirname, "../..");
/** For kubectl and kustomize, and once more in the chart: Helm takes nothing from outside of it. */
export const CRD_FILES = ["config/crd/terraforms.yaml", "charts/nigari/crds/terraforms.yaml"];
const HEADER = "# Generated from src/api/terraform.ts by npm run generate. Change that instead.\n";

/** Writes the definition from the kind's one schema. */
export function generateCrd(): void {
  const text = stringify(terraformCrd(), { lineWidth: 0, aliasDuplicateObjects: false });
  for (const file of CRD_FILES) {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), HEADER + text);
  }
}

/** The CustomResourceDefinition of Terraform, to be applied over tofu-controller's. */
export function terraformCrd() {
  const { plural, shortNames } = kinds.Terraform;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.infra.contrib.fluxcd.io` },
    spec: {
      group: "infra.contrib.fluxcd.io",
      names: {
        ...{ kind: "Terraform", listKind: "TerraformList", plural, singular: "terraform" },
        shortNames: [...shortNames],
      },
      scope: "Namespaced",
      versions: [
        {
          ...version("v1alpha1", false),
          deprecated: true,
          deprecationWarning: "v1alpha1 Terraform is deprecated, upgrade to v1alpha2",
        },
        version("v1alpha2", true),
      ],
    },
  };
}

/**
 * Both versions have one schema: objects are never converted, so a field that the older version
 * lacked would be lost when somebody wrote the object through it.
 */
function version(name: string, storage: boolean) {
  const { properties } = kinds.Terraform.schema as unknown as {
    properties: Readonly<Record<"spec" | "status", Schema>>;
  };
  const status = structural(properties.status, "status");
  return {
    name,
    served: true,
    storage,
    subresources: { status: {} },
    additionalPrinterColumns: columns,
    schema: {
      openAPIV3Schema: {
        type: "object",
        description: "A root module that is planned and applied from a source.",
        properties: {
          apiVersion: { type: "string" },
          kind: { type: "string" },
          metadata: { type: "object" },
          spec: structural(properties.spec, "spec"),
          // -1 says that nobody has looked at the object yet.
          status: storage ? { ...status, default: { observedGeneration: -1 } } : status,
        },
      },
    },
  };
}

const columns = [
  column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
  column("Status", '.status.conditions[?(@.type=="Ready")].message'),
  column("Plan", ".status.plan.summary", 1),
  column("Revision", ".status.lastAppliedRevision", 1),
  column("Next", ".status.nextDueAt", 1),
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

function column(name: string, jsonPath: string, priority?: number) {
  return { name, type: "string", jsonPath, ...(priority === undefined ? {} : { priority }) };
}
