// node git-daemon.ts FOLDER HOST PORT: serves the bare repositories in a folder, by git's own
// http-backend, to whom it may concern.
import { serveGit } from "../../src/testing/harness/git-server.ts";

const [folder, host, port] = process.argv.slice(2);
if (folder === undefined || host === undefined || port === undefined) {
  process.stderr.write("usage: git-daemon.ts FOLDER HOST PORT\n");
  process.exit(2);
}
await serveGit(folder, () => false, { host, port: Number(port) });
