import { sha256Hex } from "./canonical.ts";

const NAME_MAX = 253;
const LABEL_MAX = 63;

/**
 * A name that a store takes: the text itself if it may be one, else what is left of it and a
 * digest. So a workspace "Prod_EU" or a name as long as names may be gets its plan, too.
 */
export function objectName(text: string): string {
  if (text.length <= NAME_MAX && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text)) return text;
  const digest = sha256Hex(text).slice(0, 16);
  const rest = text.toLowerCase().replaceAll(/[^-a-z0-9.]/g, "-");
  return `${edgeless(rest, NAME_MAX - 17)}-${digest}`;
}

/** The same for a label's value: 63 characters, of which longer ones keep their beginning. */
export function labelValue(text: string): string {
  if (text.length <= LABEL_MAX && /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/.test(text)) {
    return text;
  }
  const digest = sha256Hex(text).slice(0, 16);
  return `${edgeless(text.replaceAll(/[^-A-Za-z0-9_.]/g, "-"), 46)}-${digest}`;
}

/** Cut, and beginning with a letter or digit. */
function edgeless(text: string, length: number): string {
  return `x${text.slice(0, length)}`.replace(/^x(?=[A-Za-z0-9])/, "");
}
