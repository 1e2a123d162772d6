import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { putBlock } from "../../src/render/block.ts";
import { table } from "../../src/render/markdown.ts";
import { openApi } from "../../src/server/openapi.ts";
import { type Operation, operations } from "../../src/server/operations.ts";
import { probePaths } from "../../src/server/probes.ts";

const root = join(import.meta.dirname, "../..");

/** Pages about the engine's HTTP interface, by path. */
export function apiPages(): { path: string; text: string }[] {
  const before = readFileSync(join(root, "docs/api.md"), "utf8");
  return [
    { path: "docs/openapi.json", text: `${JSON.stringify(openApi(), null, 1)}\n` },
    {
      path: "docs/api.md",
      text: putBlock(before, "operations", requests(), "# The HTTP interface"),
    },
  ];
}

export function generateApi(): void {
  for (const { path, text } of apiPages()) writeFileSync(join(root, path), text);
}

function requests(): string {
  const all = Object.values(operations) as Operation[];
  const cells = all.map(({ method, path, query, answer, summary }) => {
    const names = Object.keys((query as { properties?: object }).properties ?? {});
    const asked = names.length === 0 ? "" : `?${names.join("&")}`;
    return [
      `\`${method} ${path}${asked}\``,
      answer.is === "events" ? `${summary} (events)` : summary,
    ];
  });
  const probes = Object.entries(probePaths).map(([path, text]) => [`\`GET ${path}\``, text]);
  return table(["request", "what it answers or does"], [...cells, ...probes]);
}
