import { REASON } from "../api/names.ts";
import type { TerraformSpec } from "../api/terraform.ts";
import type { OrderedFile } from "../ports/runner.ts";
import { type InputReader, InputTrouble } from "./input-reader.ts";

/** Parts of a path that lead nowhere, up, or to what Nigari and OpenTofu write themselves. */
const REFUSED_PART = /^(|\.|\.\.|\.terraform)$/;

/** spec.fileMappings with their contents. A path that could leave its base folder is refused. */
export async function readFiles(spec: TerraformSpec, reader: InputReader): Promise<OrderedFile[]> {
  const files: OrderedFile[] = [];
  for (const [index, { secretRef, location, path }] of (spec.fileMappings ?? []).entries()) {
    const field = `spec.fileMappings[${index}]`;
    const reason = REASON.execInitFailed;
    const cleaned = path.replace(/^\.?\//, "");
    if (cleaned.split("/").some((part) => REFUSED_PART.test(part))) {
      throw new InputTrouble(`${field}.path: "${path}" is no path of a file below it`, reason);
    }
    const { name, key } = secretRef;
    if (key === undefined || key === "") {
      throw new InputTrouble(`${field}.secretRef: write the key that holds the file`, reason);
    }
    const asked = { field: `${field}.secretRef`, optional: undefined, reason };
    const content = await reader.key({ kind: "Secret", name }, key, asked);
    if (content !== undefined) files.push({ location, path: cleaned, content });
  }
  return files;
}

/**
 * The configuration of the tofu command itself, from a Secret with one key that ends with .tfrc;
 * undefined if the spec names none. Another namespace must be allowed.
 */
export async function readCliConfig(
  spec: TerraformSpec,
  where: { readonly own: string; readonly crossNamespaceRefs: boolean },
  reader: InputReader,
): Promise<string | undefined> {
  const ref = spec.cliConfigSecretRef;
  if (ref === undefined) return undefined;
  const { name, namespace = where.own } = ref;
  const field = "spec.cliConfigSecretRef";
  if (namespace !== where.own && !where.crossNamespaceRefs) {
    const why = "cross-namespace references have been disabled";
    const message = `cannot access secret ${namespace}/${name}, ${why}`;
    throw new InputTrouble(message, REASON.accessDenied);
  }
  const secret = { kind: "Secret", name, namespace } as const;
  const reason = REASON.execNewFailed;
  const data = await reader.data(secret, { field, optional: undefined, reason });
  const [entry, ...more] = data ?? [];
  if (entry === undefined || more.length > 0 || !entry[0].endsWith(".tfrc")) {
    const message = `Secret ${namespace}/${name} must hold one key, and that must end with .tfrc`;
    throw new InputTrouble(`${field}: ${message}`, reason);
  }
  return reader.taken("Secret", entry[1]);
}
