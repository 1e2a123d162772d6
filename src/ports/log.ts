/** One structured line per decision. Fields hold no secret. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A log that keeps nothing. */
export const noLog: Log = { info() {}, warn() {}, error() {}, debug() {} };
