/** A right that somebody lacks, as a rule of RBAC. */
export interface Rule {
  readonly verb: string;
  readonly resource: string;
  readonly group: string;
  /** Undefined: of the whole cluster. */
  readonly namespace: string | undefined;
  readonly user: string;
}

/** What an API server says of who may not. */
const CANNOT = new RegExp(
  'User "(?<user>[^"]*)" cannot (?<verb>\\w+) resource "(?<resource>[^"]+)" ' +
    'in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)")?',
);

/** The right that lacks, if the server's refusal tells. */
export function lackingRule(message: string): Rule | undefined {
  const found = CANNOT.exec(message)?.groups;
  if (found === undefined) return undefined;
  const { user = "", verb = "", resource = "", group = "", namespace } = found;
  return { user, verb, resource, group, namespace };
}

/** The rule as one writes it into a role, and which kind of role. */
export function ruleText({ verb, resource, group, namespace, user }: Rule): string {
  const role = namespace === undefined ? "a ClusterRole" : `a Role in namespace ${namespace}`;
  const rule = `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]}`;
  return `"${user}" needs ${role} with the rule ${rule}`;
}
