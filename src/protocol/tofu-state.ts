// What OpenTofu's state says of the things it knows: for who asks what it does not know.

/** Every attribute value of each managed resource in a state, by the resource's address. */
function attributesInState(stateJson: unknown): Map<string, Record<string, unknown>> {
  const found = new Map<string, Record<string, unknown>>();
  for (const each of listOf(recordOf(stateJson).resources)) {
    const { mode, module, type, name, instances } = recordOf(each);
    if (mode !== "managed") continue;
    const prefix = typeof module === "string" ? `${module}.` : "";
    for (const one of listOf(instances)) {
      const { index_key: index, attributes } = recordOf(one);
      const suffix = index === undefined ? "" : `[${JSON.stringify(index)}]`;
      found.set(`${prefix}${type}.${name}${suffix}`, recordOf(attributes));
    }
  }
  return found;
}

/**
 * Which of the created resources the state does not know: the address is absent, or stands for an
 * older thing of that name.
 */
export function notInState(
  created: ReadonlyMap<string, { readonly key: string; readonly value: string } | undefined>,
  stateJson: unknown,
): string[] {
  const recorded = attributesInState(stateJson);
  return [...created].flatMap(([address, identity]) => {
    const attributes = recorded.get(address);
    const known =
      attributes !== undefined &&
      (identity === undefined || String(attributes[identity.key]) === identity.value);
    return known ? [] : [address];
  });
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
