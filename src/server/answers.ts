import { StoreError, type StoreErrorCode } from "../ports/object-store.ts";
import { SlowReader } from "../ports/runs.ts";
import { StateDamaged, StateRefused } from "../ports/state.ts";
import { BadRequest } from "./check.ts";
import type { ErrorKind, WireError } from "./schemas.ts";
import { wireError } from "./wire.ts";

/** A body beyond its limit. */
export class TooLarge extends Error {
  override readonly name = "TooLarge";
}

/** The engine did not come to an answer in the time a request has. */
export class TooLate extends Error {
  override readonly name = "TooLate";
}

const STATUS = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Invalid: 422,
  Expired: 410,
  Forbidden: 403,
  NoSuchKind: 404,
  Unavailable: 503,
} as const satisfies Record<StoreErrorCode, number>;

export type ErrorStatus = (typeof STATUS)[StoreErrorCode] | 400 | 413 | 500 | 503;

type Kind = abstract new (...given: never[]) => Error;

/** Errors that tell what went wrong to whoever asked. */
const KNOWN: readonly (readonly [Kind, ErrorStatus, ErrorKind])[] = [
  [StateRefused, 409, "state-refused"],
  [StateDamaged, 500, "state-damaged"],
  [BadRequest, 400, "request"],
  [TooLarge, 413, "request"],
  [TooLate, 503, "late"],
  [SlowReader, 503, "slow"],
];

/** An error as it travels. The text of an unforeseen one stays here. */
export function errorAnswer(error: unknown): { readonly status: ErrorStatus; body: WireError } {
  if (error instanceof StoreError) {
    const { code, message } = error;
    return { status: STATUS[code], body: { error: { kind: "store", code, message } } };
  }
  for (const [known, status, kind] of KNOWN) {
    if (error instanceof known) return { status, body: wireError(kind, error.message) };
  }
  const body = wireError("internal", "Engine failed at this request; its log says why");
  return { status: 500, body };
}
