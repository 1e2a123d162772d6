// npm run tools: OpenTofu and the provider that tests and the demo use, built once from the Go
// modules that tools/go.mod and tools/provider-time/go.mod pin.
import { openTofu, providerTime } from "../../src/adapters/opentofu/programs.ts";
import { makePrograms } from "./programs.ts";

await makePrograms("tools", [openTofu, providerTime]);
