/**
 * Takes out of text what may be a secret: user info in URLs, tokens, keys, values of settings whose
 * name says so. Applied to whatever is shown or saved; it may take too much, never too little.
 */
export function redacted(text: string): string {
  return rules.reduce((all, { find, put }) => all.replace(find, put), text);
}

/** `name = value` and `"name": "value"`, where the name says that the value is secret. */
function setting(): RegExp {
  const name = /[\w.-]{0,80}(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)/.source;
  const value = /"[^"]{1,2000}"|'[^']{1,2000}'|[^\s,;&"'}]+/.source;
  return new RegExp(`\\b(${name}["']?\\s*[:=]\\s*)(?:${value})`, "gi");
}

const HIDDEN = "[redacted]";

const rules: readonly { readonly find: RegExp; readonly put: string }[] = [
  { find: /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]+(?::[^\s/@]*)?@/gi, put: `$1${HIDDEN}@` },
  { find: /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, put: HIDDEN },
  { find: /\b(Bearer|Basic|token) [\w.~+/=-]{8,}/gi, put: `$1 ${HIDDEN}` },
  { find: /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g, put: HIDDEN },
  { find: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, put: HIDDEN },
  { find: /\b(?:gh[pousr]|github_pat|glpat|xox[abpr])[-_][\w-]{10,}/g, put: HIDDEN },
  { find: setting(), put: `$1${HIDDEN}` },
];
