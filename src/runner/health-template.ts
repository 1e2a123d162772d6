/** Why a template of the spec cannot be filled in; the message holds no value. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

const ACTION = /\$\{\{(.*?)\}\}/gs;
const FIELD = /^\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*$/;
const INDEX = /^\s*index\s+\.\s+"((?:[^"\\]|\\.)*)"\s*$/;

/**
 * Fills outputs into an address, as tofu-controller has it: `${{ .name }}`, or
 * `${{ index . "name" }}` for names that are no words. What else Go's templates know is refused: an
 * address has no need of it. Fails with TemplateError.
 */
export function fillIn(template: string, outputs: ReadonlyMap<string, string>): string {
  return template.replace(ACTION, (whole, inside: string) => {
    const name = FIELD.exec(inside)?.[1] ?? INDEX.exec(inside)?.[1];
    if (name === undefined) {
      throw new TemplateError(`"${whole}" is not known here; write \${{ .name }} of an output`);
    }
    const value = outputs.get(name);
    if (value === undefined) throw new TemplateError(`there is no output "${name}"`);
    return value;
  });
}
