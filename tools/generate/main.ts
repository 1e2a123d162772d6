// npm run generate: everything that is derived and committed. Each generator is one function.

const generators: { name: string; run: () => void }[] = [];

for (const { name, run } of generators) {
  run();
  process.stdout.write(`generate: ${name}\n`);
}
