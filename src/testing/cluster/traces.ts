import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hierarchies } from "./cgroups.ts";
import { run, tryRun } from "./commands.ts";
import { type ClusterPlan, ranges } from "./plan.ts";

/** Everything on this machine that a cluster has, or has left behind, one line each. */
export function tracesOf(plan: ClusterPlan): string[] {
  const mine = (line: string) => line.includes(plan.id) || line.includes(plan.folder);
  const lines = (text: string | undefined) => (text ?? "").split("\n").filter(mine);
  const routes = run("ip", "route").split("\n");
  const networks = [`10.89.${plan.slot}.`, ...Object.values(ranges(plan))].map((each) =>
    each.replace(/0\.0\/16$/, ""),
  );
  return [
    ...lines(run("ip", "-oneline", "link")).map((line) => `link ${line}`),
    ...lines(run("ip", "netns")).map((line) => `network namespace ${line}`),
    ...routes.filter((line) => networks.some((each) => line.includes(each))),
    ...lines(tryRun("iptables-save")).map((line) => `rule ${line}`),
    ...lines(readFileSync("/proc/self/mountinfo", "utf8")).map((line) => `mount ${line}`),
    ...hierarchies()
      .map((folder) => join(folder, plan.id))
      .filter((folder) => existsSync(folder)),
    ...processesOfFolder(plan.folder),
    ...(existsSync(plan.folder) ? [`folder ${plan.folder}`] : []),
  ];
}

function processesOfFolder(folder: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return words.includes(`${folder}/`) ? [`process ${pid}: ${words}`] : [];
    } catch {
      return [];
    }
  });
}
