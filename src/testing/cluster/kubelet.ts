import { createServer } from "node:https";
import { type AddressInfo, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";

export interface FakeKubelet {
  readonly ip: string;
  readonly port: number;
  /** Every path that the API server asked for. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/**
 * Stands in for the kubelet of a node: serves logs as the API server asks for them. `logs` gives
 * the text of `namespace/pod`, or undefined if there is none.
 */
export async function startFakeKubelet(
  identity: { readonly cert: string; readonly key: string },
  logs: (pod: string) => string | undefined,
): Promise<FakeKubelet> {
  const asked: string[] = [];
  const server = createServer({ ...identity }, (request, response) => {
    asked.push(request.url ?? "");
    const found = /^\/containerLogs\/([^/]+)\/([^/]+)\//.exec(request.url ?? "");
    const text = found === null ? undefined : logs(`${found[1]}/${found[2]}`);
    if (text === undefined) response.statusCode = 404;
    response.end(text ?? "no such log");
  });
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", () => resolve()));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ ip: outsideAddress(), port, asked },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The API server refuses to go to loopback addresses. */
function outsideAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const own = all.find((each) => !each.internal && isIPv4(each.address));
  return own?.address ?? "127.0.0.1";
}
