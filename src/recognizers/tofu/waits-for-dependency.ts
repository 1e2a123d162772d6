import type { TerraformView } from "../../evidence/terraforms.ts";
import { citeReady } from "../cites.ts";
import { type Cite, defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { HARMLESS, stampOf } from "../words.ts";

/** An object that only waits for another one. */
export const waitsForDependency = defineRecognizer({
  id: "tofu/waits-for-dependency",
  since: "0.1.0",
  maturity: "trial",
  severity: "wait",
  summary: "Checks for objects that only wait for one they depend on.",
  plural: "objects only wait for another one and clear by themselves",
  needs: ["terraforms"],
  wants: [],
  lookAlikes: [
    {
      id: "tofu/reconcile-parked",
      tellApart: "Ready is Unknown in a call; here it is False with DependencyNotReady.",
    },
    {
      id: "tofu/awaits-approval",
      tellApart: "A plan of the object's own is pending; here it has not come to planning.",
    },
  ],

  recognize({ terraforms }) {
    const byKey = new Map(terraforms.map((each) => [each.key, each]));
    const findings = terraforms
      .filter((object) => waits(object))
      .map((object) => findingOf(object, byKey));
    return verdictOf(findings, [], "No object waits for a dependency.");
  },

  remedies: [
    {
      do: "Mend {root}, the root of the chain; this one clears by itself.",
      command: "kubectl -n {rootNamespace} describe terraform {rootName}",
      risk: "read-only",
      precondition: "None.",
      effect: "You see why the root is not ready.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The root is Ready; within its retry interval this one reconciles.",
    },
  ],
  doesNotHelp: ["Restarting anything for this object: it is looked at again and again already."],
  doc: {
    meaning: "The object named in dependsOn is not ready, or not at the same revision yet.",
    impact: "The object stands still until its root is ready; nothing is damaged.",
    symptoms: [
      "Ready=False, DependencyNotReady.",
      'The log says "Dependencies do not meet ready condition" every retry interval.',
    ],
    limits: "A cycle has no root; then the first object of the cycle is named.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, Kubernetes 1.36" },
});

const waits = (object: TerraformView) =>
  !object.suspended &&
  object.ready?.status === "False" &&
  object.ready.reason === "DependencyNotReady";

function findingOf(object: TerraformView, byKey: ReadonlyMap<string, TerraformView>): Finding {
  const chain = chainOf(object, byKey);
  const root = chain.at(-1) ?? object.key;
  const [rootNamespace = "", rootName = ""] = root.split("/");
  const exists = byKey.has(root);
  const cites: Cite[] = [object, ...chain.flatMap((key) => byKey.get(key) ?? [])].map(citeReady);
  return {
    objects: [object.ref],
    says: exists
      ? `${object.key} waits for ${root} and clears by itself.`
      : `${object.key} waits for ${root}, which does not exist.`,
    short: `${object.key}, for ${root}${exists ? "" : ", which does not exist"}`,
    facts: { root, rootExists: exists, chain, rootNamespace, rootName },
    cites,
    since: stampOf(object.ready?.sinceMs),
    causes: [`Terraform/${root}`],
  };
}

/** Each refusal names what it waits for in its own way; of an output Secret, whose it is. */
function dependencyIn(message: string): string | undefined {
  return DEPENDENCY.map((form) => form.exec(message)?.[1]).find((each) => each !== undefined);
}

const DEPENDENCY = [
  /dependency '([^']+)'/,
  /'([^']+)' dependency/,
  /output secret: '[^']*' of '([^']+)'/,
];

/** From what the object itself waits for to the first that waits for nobody. */
function chainOf(object: TerraformView, byKey: ReadonlyMap<string, TerraformView>): string[] {
  const chain: string[] = [];
  const seen = new Set([object.key]);
  for (let at: TerraformView | undefined = object; at !== undefined && waits(at); ) {
    const named = dependencyIn(at.ready?.message ?? "");
    const next: string | undefined = named ?? at.dependsOn[0];
    if (next === undefined || seen.has(next)) break;
    chain.push(next);
    seen.add(next);
    at = byKey.get(next);
  }
  return chain;
}
