import type { Call } from "../../ports/call.ts";
import { StoreError, type StoreErrorCode } from "../../ports/object-store.ts";
import { ApiError } from "./api-error.ts";
import { AccessError } from "./kubeconfig.ts";
import { lackingRule, ruleText } from "./rights.ts";

/** What went wrong for who asked a store; `what` begins the message. */
export function storeError(what: string, error: unknown, { signal }: Call): unknown {
  if (signal.aborted) {
    return new StoreError("Unavailable", `${what} was cancelled`, { cause: signal.reason });
  }
  if (error instanceof AccessError) {
    return new StoreError("Unavailable", `${what}: ${error.message}`, { cause: error });
  }
  if (!(error instanceof ApiError)) return error;
  const lacks = lackingRule(error.message);
  const mend = lacks === undefined ? "" : `; ${ruleText(lacks)}`;
  return new StoreError(codeOf(error), `${what}: ${error.message}${mend}`, { cause: error });
}

function codeOf({ status, reason }: ApiError): StoreErrorCode {
  switch (status) {
    case 404:
      // Without a reason it is the path that is not known: the definition of the kind is missing.
      return reason === "NotFound" ? "NotFound" : "NoSuchKind";
    case 409:
      return reason === "AlreadyExists" ? "AlreadyExists" : "Conflict";
    case 410:
      return "Expired";
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
      return "Invalid";
    case 401:
    case 403:
      return "Forbidden";
    default:
      return "Unavailable";
  }
}
