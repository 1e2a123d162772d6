// Outputs in the words of `output -json`, from what OpenTofu has said or written before. Both tell
// the very same values and types; where they do not tell all, nothing is answered, and it is asked.

type Output = Readonly<Record<string, unknown>>;

/**
 * From a line of `apply -json`. Undefined if it is no such line, or leaves something out: of a
 * sensitive output it tells no value.
 */
export function outputsToldIn(line: string): string | undefined {
  const told = parseExactly(line);
  return isObject(told) && told.type === "outputs" ? outputsText(told.outputs) : undefined;
}

/** From the text of a state. Undefined if it is none. */
export function outputsInState(state: string): string | undefined {
  const found = parseExactly(state);
  const isState = isObject(found) && isObject(found.version) && found.version.rawJSON === "4";
  return isState ? outputsText(found.outputs) : undefined;
}

/** A line that may be one of outputs, for who looks at many. */
export function mayTellOutputs(line: string): boolean {
  return line.includes('"type":"outputs"');
}

function outputsText(outputs: unknown): string | undefined {
  if (!isObject(outputs)) return undefined;
  const all = Object.entries(outputs).map(([name, each]) => [name, outputOf(each)] as const);
  if (all.some(([, output]) => output === undefined)) return undefined;
  return JSON.stringify(Object.fromEntries(all));
}

function outputOf(each: unknown): Output | undefined {
  if (!isObject(each) || each.type === undefined || each.value === undefined) return undefined;
  return { sensitive: false, ...each };
}

/** Numbers keep their digits, as objects with their text: a double would round long ones. */
function parseExactly(text: string): unknown {
  const { rawJSON } = JSON as unknown as { rawJSON(source: string): unknown };
  const exact = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? rawJSON(context?.source ?? String(value)) : value;
  try {
    return JSON.parse(text, exact);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Output {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
