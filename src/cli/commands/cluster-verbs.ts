import type { Command } from "commander";
import { type ClusterContext, type VerbPorts, withCluster } from "../cluster/parts.ts";

/** Adds what works on a cluster alone: `fence` and `migrate`. */
export function addCluster({ program, parts, common, done }: VerbPorts): void {
  program
    .command("fence")
    .description("vouch that a node of the cluster is off, so that its lost runs can be ended")
    .argument("<node>")
    .option("--confirm", "do it; without it only what would follow is shown", false)
    .action(async (node: string, options: { confirm: boolean }, command: Command) => {
      const { fence } = await import("../cluster/fence.ts");
      done(await withCluster(parts, common(command), (context) => fence(context, node, options)));
    });
  addMigrate({ program, parts, common, done });
}

function addMigrate({ program, parts, common, done }: VerbPorts): void {
  const migrate = program
    .command("migrate")
    .description("take a cluster over from tofu-controller, and give it back");
  const verb = async (command: Command, tool: (context: ClusterContext) => Promise<number>) =>
    done(await withCluster(parts, common(command), tool));
  migrate
    .command("check")
    .description("what stands in the way, and what to know before; nothing is changed")
    .action(async (_options: object, command: Command) => {
      const { migrateCheck } = await import("../cluster/migrate/verbs.ts");
      const ours = await parts.definition();
      await verb(command, (context) => migrateCheck(context, ours));
    });
  migrate
    .command("status")
    .description("whose each object is now")
    .action(async (_options: object, command: Command) => {
      const { migrateStatus } = await import("../cluster/migrate/verbs.ts");
      await verb(command, migrateStatus);
    });
  migrate
    .command("finish")
    .description("remove what tofu-controller left behind, once it is stopped")
    .option("--confirm", "do it; without it only what would be removed is shown", false)
    .action(async (options: { confirm: boolean }, command: Command) => {
      const { migrateFinish } = await import("../cluster/migrate/verbs.ts");
      await verb(command, (context) => migrateFinish(context, options));
    });
  migrate
    .command("back")
    .description("remove what would keep tofu-controller from taking over again")
    .option("--confirm", "do it; without it only what would be removed is shown", false)
    .action(async (options: { confirm: boolean }, command: Command) => {
      const { migrateBack } = await import("../cluster/migrate/verbs.ts");
      await verb(command, (context) => migrateBack(context, options));
    });
}
