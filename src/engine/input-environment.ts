import { REASON } from "../api/names.ts";
import type { EnvFromSource, EnvVar, TerraformSpec } from "../api/terraform.ts";
import { type InputReader, InputTrouble } from "./input-reader.ts";

/**
 * Names that Nigari sets itself or that would take a run out of its hands; tofu-controller refuses
 * the first five kinds too.
 */
const REFUSED_ENV = new RegExp(
  [
    "^(TF_VAR_.*|TF_CLI_ARGS.*|TF_LOG.*|TF_REATTACH_PROVIDERS|TF_INPUT|TF_IN_AUTOMATION",
    "|TF_WORKSPACE|TF_APPEND_USER_AGENT|TF_DISABLE_PLUGIN_TLS|TF_SKIP_PROVIDER_VERIFY",
    "|TF_DATA_DIR|NIGARI_.*)$",
  ].join(""),
);
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/** As Kubernetes makes it for a container: `envFrom` first, `env` over it, later ones win. */
export async function readEnv(spec: TerraformSpec, reader: InputReader) {
  const { envFrom = [], env: variables = [] } = spec.runnerPodTemplate?.spec ?? {};
  const env: Record<string, string> = {};
  for (const [index, from] of envFrom.entries()) {
    const field = `spec.runnerPodTemplate.spec.envFrom[${index}]`;
    Object.assign(env, await readEnvFrom(from, field, reader));
  }
  for (const [index, variable] of variables.entries()) {
    await readEnvVar(variable, `spec.runnerPodTemplate.spec.env[${index}]`, { env, reader });
  }
  return env;
}

async function readEnvFrom(from: EnvFromSource, field: string, reader: InputReader) {
  const kind = from.secretRef === undefined ? "ConfigMap" : "Secret";
  const ref = from.secretRef ?? from.configMapRef;
  const { name = "", optional = false } = ref ?? {};
  if (name === "") {
    const message = `${field}: write secretRef or configMapRef, with a name`;
    throw new InputTrouble(message, REASON.execInitFailed);
  }
  const asked = { field, optional, reason: REASON.execInitFailed };
  const data = await reader.data({ kind, name }, asked);
  const env: Record<string, string> = {};
  for (const [key, value] of data ?? []) {
    const variable = `${from.prefix ?? ""}${key}`;
    // Kubernetes leaves those out too: other keys of the same Secret may be files.
    if (!ENV_NAME.test(variable)) continue;
    refuse(variable, `${field} (${variable})`);
    env[variable] = reader.taken(kind, value);
  }
  return env;
}

interface Under {
  /** What is there so far; the variable is added. */
  readonly env: Record<string, string>;
  readonly reader: InputReader;
}

async function readEnvVar({ name, value, valueFrom }: EnvVar, at: string, under: Under) {
  const { env, reader } = under;
  const field = `${at} (${name})`;
  if (!ENV_NAME.test(name)) {
    throw new InputTrouble(`${field}: this is no name of a variable`, REASON.execInitFailed);
  }
  refuse(name, field);
  const read = valueFrom === undefined ? value : await reader.single(valueFrom, field);
  if (read !== undefined) env[name] = valueFrom === undefined ? expand(read, env) : read;
}

function refuse(name: string, field: string): void {
  if (!REFUSED_ENV.test(name)) return;
  const wrong = `manual setting of env var "${name}" detected`;
  const mend = name.startsWith("TF_VAR_") ? "use spec.vars" : "remove it";
  const message = `${field}: error setting env for Terraform: ${wrong}; ${mend}`;
  throw new InputTrouble(message, REASON.execInitFailed);
}

/** `$(NAME)` of a variable defined before, as Kubernetes does it; `$$(NAME)` is meant literally. */
function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$?)\(([A-Za-z_][A-Za-z0-9_.-]*)\)/g, (whole, dollar, name: string) =>
    dollar === "$" ? `$(${name})` : (env[name] ?? whole),
  );
}
