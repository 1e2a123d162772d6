import type { Right } from "../../../ports/cluster.ts";
import type { ClusterContext } from "../parts.ts";

/** What `migrate finish` and `migrate back` do, besides reading. */
const needed: readonly Right[] = [
  { verb: "delete", kind: "Secret" },
  { verb: "delete", kind: "Pod" },
  { verb: "patch", kind: "Pod" },
  { verb: "patch", kind: "Terraform" },
];

/** Those that the caller has not, as "delete Secrets in every namespace". */
export async function lackingRights({ admin, call }: ClusterContext): Promise<string[]> {
  const answers = await Promise.all(
    needed.map(async (right) => ((await admin.mayI(right, call())) ? undefined : right)),
  );
  return answers.flatMap((right) =>
    right === undefined ? [] : [`${right.verb} ${right.kind}s in every namespace`],
  );
}
