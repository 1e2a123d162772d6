import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

export interface ModuleServer {
  readonly address: string;
  /** From now on it answers after so many milliseconds. */
  delay(ms: number): void;
  close(): void;
}

const MODULE = 'output "label" {\n  value = "from the module server"\n}\n';

/** Serves one module archive on loopback, as slowly as it is told. */
export async function serveModules(): Promise<ModuleServer> {
  let delayMs = 0;
  const archive = gzipSync(tarOf("main.tf", MODULE));
  const server = createServer((_request, response) => {
    setTimeout(() => {
      response.writeHead(200, { "content-type": "application/gzip" });
      response.end(archive);
    }, delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    delay: (ms) => {
      delayMs = ms;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A tar archive (ustar) of one small file. */
function tarOf(name: string, text: string): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(Buffer.byteLength(text), 12), 124);
  header.write(octal(0, 12), 136);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\0" + "00", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
  body.write(text);
  return Buffer.concat([header, body, Buffer.alloc(1024)]);
}
