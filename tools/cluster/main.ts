// npm run cluster: etcd and the Kubernetes API server that test/real/doctor-cluster.test.ts asks,
// built once from the Go modules that tools/cluster/*/go.mod pin. About ten minutes on two cores.
import { join, relative } from "node:path";
import { makeProgram } from "../../src/adapters/opentofu/make.ts";
import { toolsFolder } from "../../src/adapters/opentofu/programs.ts";
import { progressWriter } from "../../src/adapters/opentofu/progress.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { apiServerProgram, etcdProgram } from "../../src/testing/cluster/programs.ts";

const root = join(import.meta.dirname, "../..");
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => stop.abort(new Error(`${signal} was received`)));
}
const clock = createClock();
const options = {
  folder: toolsFolder({ env: process.env, root }),
  env: process.env,
  clock,
  onProgress: progressWriter({
    isTerminal: process.stderr.isTTY === true,
    write: (text) => process.stderr.write(text),
  }),
};
try {
  for (const program of [await etcdProgram(root), await apiServerProgram(root)]) {
    await makeProgram(program, options, stop);
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(
    `cluster: ${message.replaceAll(root, relative(process.cwd(), root) || ".")}\n`,
  );
  process.exitCode = 1;
} finally {
  clock.close();
}
