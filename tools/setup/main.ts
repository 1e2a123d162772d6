// Exit code 0 if node_modules holds what package-lock.json asks for; "make setup" asks.
import { join } from "node:path";
import { stale } from "./installed.ts";

process.exitCode = stale(join(import.meta.dirname, "../.."))?.length === 0 ? 0 : 1;
