import { randomBytes } from "node:crypto";
import type { Random } from "../../ports/clock.ts";

/** The machine's own chance; `hex` is fit for secrets. */
export const systemRandom: Random = {
  next: () => Math.random(),
  hex: (bytes) => randomBytes(bytes).toString("hex"),
};
