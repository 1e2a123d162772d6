// npm run generate: everything that is derived and committed. Each generator is one function.
import { generateProto } from "./proto.ts";

const generators: { name: string; run: () => void }[] = [
  { name: "src/protocol/generated from proto/", run: generateProto },
];

for (const { name, run } of generators) {
  run();
  process.stdout.write(`generate: ${name}\n`);
}
