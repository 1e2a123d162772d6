import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockFolder } from "../../adapters/opentofu/build-lock.ts";
import { createClock } from "../../adapters/system/clock.ts";
import { identityOf, type ProcessIdentity, sameProcess } from "../../processes/identity.ts";
import { Daemons } from "./daemons.ts";
import { type Chosen, type ClusterPlan, planOf, SLOTS } from "./plan.ts";
import { tearDown } from "./tear-down.ts";

/** Who has which slot, machine-wide. */
const REGISTER = "/run/nigari-clusters";
const LOCK_LIMIT_MS = 120_000;
/** Of one with two nodes, while one of them starts anew. */
const WATCHES_PER_CLUSTER = 40;

interface Claim {
  readonly plan: ClusterPlan;
  /** Whose death makes the cluster a leftover; none for one that stays until it is taken down. */
  readonly owner?: ProcessIdentity;
}

/**
 * Takes a free slot for a cluster of this process. First whatever dead processes left behind is
 * taken down, be it by a crash or by a power cut.
 */
export async function claimSlot(chosen: Omit<Chosen, "slot">): Promise<ClusterPlan> {
  return underLock(async () => {
    await removeLeftovers();
    const free = Array.from({ length: SLOTS }, (_, slot) => slot).find(
      (slot) => readClaim(slot) === undefined,
    );
    if (free === undefined) throw new Error(`All ${SLOTS} slots for clusters are taken`);
    checkWatches(claims().length + 1);
    const plan = planOf({ ...chosen, slot: free });
    const owner = identityOf(process.pid);
    writeClaim(owner === undefined ? { plan } : { plan, owner });
    return plan;
  });
}

/** Past the limit a program's watch on its files fails, and a node is ready without its network. */
function checkWatches(clusters: number): void {
  const need = clusters * WATCHES_PER_CLUSTER;
  const have = Number(readFileSync("/proc/sys/fs/inotify/max_user_instances", "utf8"));
  if (have >= need) return;
  const mend = `run "sysctl -w fs.inotify.max_user_instances=${need}", or take one down`;
  throw new Error(
    `${clusters} clusters need ${need} inotify instances, and ${have} may be: ${mend}`,
  );
}

/** From now on the cluster stays until it is taken down, whoever ends. */
export function keepSlot(plan: ClusterPlan): void {
  writeClaim({ plan });
}

/** Takes a cluster down and gives its slot back. */
export async function release(plan: ClusterPlan): Promise<void> {
  await underLock(async () => {
    // Its slot may be somebody else's by now.
    if (readClaim(plan.slot)?.plan.folder !== plan.folder) return;
    await tearDown(plan);
    rmSync(claimFile(plan.slot), { force: true });
  });
}

/** The cluster whose files are in this folder, if there is one. */
export function claimedIn(folder: string): ClusterPlan | undefined {
  return claims().find(({ plan }) => plan.folder === folder)?.plan;
}

/** Takes down whatever dead processes left behind. */
export async function clearLeftovers(): Promise<void> {
  await underLock(removeLeftovers);
}

async function removeLeftovers(): Promise<void> {
  for (const claim of claims()) {
    if (isAlive(claim)) continue;
    await tearDown(claim.plan);
    rmSync(claimFile(claim.plan.slot), { force: true });
  }
}

function isAlive({ plan, owner }: Claim): boolean {
  if (owner !== undefined) return sameProcess(owner);
  const daemons = new Daemons(plan.folder);
  return daemons.names().some((name) => daemons.pid(name) !== undefined);
}

async function underLock<T>(work: () => Promise<T>): Promise<T> {
  mkdirSync(REGISTER, { recursive: true, mode: 0o700 });
  const clock = createClock();
  const signal = AbortSignal.timeout(LOCK_LIMIT_MS);
  const unlock = await lockFolder(REGISTER, clock, () => undefined, { signal });
  try {
    return await work();
  } finally {
    unlock();
    clock.close();
  }
}

function claims(): Claim[] {
  try {
    const files = readdirSync(REGISTER).filter((file) => file.endsWith(".json"));
    return files.flatMap((file) => readClaim(Number.parseInt(file, 10)) ?? []);
  } catch {
    return [];
  }
}

function readClaim(slot: number): Claim | undefined {
  try {
    return JSON.parse(readFileSync(claimFile(slot), "utf8"));
  } catch {
    return undefined;
  }
}

function writeClaim(claim: Claim): void {
  writeFileSync(claimFile(claim.plan.slot), JSON.stringify(claim), { mode: 0o600 });
}

function claimFile(slot: number): string {
  return join(REGISTER, `${slot}.json`);
}
