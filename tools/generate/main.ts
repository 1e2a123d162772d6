// npm run generate: everything that is derived and committed. Each generator is one function.
import { generateApi } from "./api.ts";
import { generateCrd } from "./crd.ts";
import { generateDomainTables } from "./domain-tables.ts";
import { generateProto } from "./proto.ts";
import { generateRunbook } from "./runbook.ts";

const generators: { name: string; run: () => void }[] = [
  {
    name: "docs/lost-runs.md and the fields of docs/spec from src/domain",
    run: generateDomainTables,
  },
  { name: "config/crd and the chart's from src/api/terraform.ts", run: generateCrd },
  { name: "docs/openapi.json and docs/api.md from src/server", run: generateApi },
  { name: "src/protocol/generated from proto/", run: generateProto },
  { name: "docs/runbook and its pointer in AGENTS.md from src/recognizers", run: generateRunbook },
];

for (const { name, run } of generators) {
  run();
  process.stdout.write(`generate: ${name}\n`);
}
