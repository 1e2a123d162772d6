import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What git is to know of the machine it runs on: nothing. */
export const gitEnvironment = {
  PATH: process.env.PATH ?? "",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Test",
  GIT_AUTHOR_EMAIL: "test@example.com",
  GIT_COMMITTER_NAME: "Test",
  GIT_COMMITTER_EMAIL: "test@example.com",
};

export interface GitServer {
  readonly url: string;
  /** Authorization headers seen, in their order; "" where none was sent. */
  readonly seen: string[];
  close(): Promise<void>;
}

/**
 * Serves the repositories below a folder by git's own http-backend. `admit` looks at each request
 * first and may answer it itself (true).
 */
export async function serveGit(
  root: string,
  admit: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
  at: { readonly host: string; readonly port: number } = { host: "127.0.0.1", port: 0 },
): Promise<GitServer> {
  const seen: string[] = [];
  const children = new Set<ChildProcess>();
  const server: Server = createServer((request, response) => {
    seen.push(request.headers.authorization ?? "");
    if (admit(request, response)) return;
    const child = backend(root, request, response);
    children.add(child);
    child.on("exit", () => children.delete(child));
  });
  server.listen(at.port, at.host);
  await once(server, "listening");
  return {
    url: `http://${at.host}:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      for (const child of children) child.kill("SIGKILL");
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function backend(root: string, request: IncomingMessage, response: ServerResponse): ChildProcess {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const child = spawn("git", ["-c", "safe.directory=*", "http-backend"], {
    env: {
      ...gitEnvironment,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method ?? "GET",
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_ADDR: "127.0.0.1",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => {});
  let head = Buffer.alloc(0);
  const onHead = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    child.stdout.off("data", onHead);
    for (const line of head.subarray(0, end).toString().split("\r\n")) {
      const [name = "", value = ""] = line.split(/:\s*/, 2);
      if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    child.stdout.pipe(response);
  };
  child.stdout.on("data", onHead);
  return child;
}
