import type { LogLine, LogMark } from "./model.ts";
import { anyOf } from "./patterns.ts";

/**
 * What a log line is a sign of. The first row that fits gives the mark, so the particular stands
 * before the general. Patterns are tried on short text only and have no nested repetition.
 */
const rows: readonly { readonly mark: LogMark; readonly fits: RegExp }[] = [
  { mark: "workers-started", fits: /^Starting workers/ },
  { mark: "leader-lost", fits: anyOf(/leader ?election lost/, /stopped leading/) },
  { mark: "leader-won", fits: anyOf(/successfully acquired lease/, /became leader/) },
  {
    mark: "lease-trouble",
    fits: anyOf(
      /error retrieving (lease|resource) lock/,
      /failed to renew lease/,
      /failed to (update|release) lock/,
      /error updating lease/,
    ),
  },
  {
    mark: "etcd-trouble",
    fits: anyOf(
      /etcdserver: (request timed out|leader changed|no leader|too many requests)/,
      /lost leader|leader is overloaded/,
      /failed to send out heartbeat on time/,
      /slow fdatasync/,
      /waiting for ReadIndex response took too long/,
    ),
  },
  {
    mark: "slow-request",
    fits: anyOf(
      /apply request took too long/,
      /request .{0,100}took too long/,
      /^"?Trace\[\d+\]: .{0,200}\(total time:/,
    ),
  },
  {
    mark: "api-server-trouble",
    fits: anyOf(
      /timeout.?or.?abort|post-timeout activity/,
      /http: Handler timeout/,
      /client connection lost/,
      /unable to return a response in the time allotted/,
      /request did not complete within (the )?(requested|allotted) timeout/,
      /context deadline exceeded.{0,200}(etcd|storage)/,
      /(etcd|storage).{0,200}context deadline exceeded/,
    ),
  },
  {
    mark: "artifact-refused",
    fits: anyOf(
      /failed to download artifact.{0,300}status: ?\d/,
      /failed to verify artifact|expected artifact size/,
      /Source '[^']*' not found/,
      /artifact not found/,
    ),
  },
  {
    mark: "artifact-unreachable",
    fits: anyOf(/failed to download artifact/, /giving up after \d/),
  },
  { mark: "tls-secret-missing", fits: anyOf(/secrets? "?terraform-runner\.tls-\d+"? not found/) },
  { mark: "session-lost", fits: anyOf(/terraform session (error: instance id|mismatch)/) },
  {
    mark: "state-lock-refused",
    fits: anyOf(
      /error acquiring the state lock/,
      /state is already locked by/,
      /workspace already locked/,
      /ConditionalCheckFailedException/,
    ),
  },
  {
    mark: "access-refused",
    fits: anyOf(
      /unable to (read|list|get)[^\n]{0,300}(\b40[13]\b|forbidden|unauthori[sz]ed)/,
      /unable to (read|list|get)[^\n]{0,300}(permission denied|access ?denied)/,
    ),
  },
  {
    mark: "ids-gone",
    fits: anyOf(/unable to (read|find)[^\n]{0,300}(not found|does not exist|no such)/),
  },
  {
    mark: "runner-not-created",
    fits: anyOf(
      /unable to lookup or create runner/,
      /failed to (create and obtain pod ip|wait for the)/,
      /failed waiting for the terminating runner/,
      /exceeded quota/,
    ),
  },
  { mark: "setup-failed", fits: /^error in terraform setup/ },
  {
    mark: "shutdown",
    fits: anyOf(/^Stopping and waiting for/, /^Forcing shutdown/, /shutdown signal received/),
  },
  { mark: "deadline-exceeded", fits: /DeadlineExceeded|context deadline exceeded/ },
];

/** One look that spares most lines the rows: no row fits a line without one of these. */
const HINT = anyOf(
  /workers|leader|lease|lock|etcd|heartbeat|fdatasync|ReadIndex|too long|Trace\[/,
  /timeout|deadline|connection lost|allotted|artifact|Source|giving up|tls-|session/,
  /unable|failed|quota|setup|stopping|shutdown|ConditionalCheck/,
);

/** Text beyond this is not looked at: signs stand at the beginning of a message or an error. */
const LOOK_CHARACTERS = 4_000;

/** The mark of a line with this message and error, if it has one. */
export function markOf(
  message: string,
  error: string | undefined,
  level: LogLine["level"],
): LogMark | undefined {
  const own = message.slice(0, LOOK_CHARACTERS);
  const text = error === undefined ? own : `${own} ${error.slice(0, LOOK_CHARACTERS)}`;
  const found = HINT.test(text) ? rows.find((row) => row.fits.test(text))?.mark : undefined;
  return found ?? (level === "error" ? "failure" : undefined);
}
