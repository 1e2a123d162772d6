import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createClock } from "../system/clock.ts";
import { connectEngine } from "./client.ts";

const folder = mkdtempSync(join(tmpdir(), "nigari-client-"));
const clock = createClock();
const servers: Server[] = [];
afterAll(() => {
  clock.close();
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

/** An engine of another version, of which one answer is known. */
async function engineThatSays(answer: object) {
  const socket = join(folder, `${servers.length}.sock`);
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return connectEngine(socket, clock);
}

const info = {
  pid: 7,
  version: "0.1.0",
  since: "2026-01-01T00:00:00Z",
  command: "nigari up",
  dataDir: "/data",
  epoch: 3,
  runs: [],
  slots: { taken: 0, all: 4 },
};
const call = () => ({ signal: AbortSignal.timeout(5_000) });

test("an older engine that lacks a field which came later is understood", async () => {
  const { engine } = await engineThatSays(info);
  expect(await engine.info(call())).toEqual({ ...info, lagMs: 0 });
});

test("a newer engine may say more", async () => {
  const { engine } = await engineThatSays({ ...info, lagMs: 3, mood: "good" });
  expect(await engine.info(call())).toMatchObject({ lagMs: 3 });
});

test("an answer without what has always been there is refused, and named", async () => {
  const { pid: _, ...rest } = info;
  const { engine } = await engineThatSays(rest);
  await expect(engine.info(call())).rejects.toThrow("lacks pid; see that nigari here is of");
});
