import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A command of OpenTofu: the first argument. */
export type TofuCommandName = "init" | "workspace" | "plan" | "show" | "apply" | "output" | "state";

/** What stands in for OpenTofu in a command. */
export type Mischief =
  /** Waits before it begins, until it is let go. */
  | "hold"
  /** Does its work in a session of its own, while the one who is interrupted ignores it. */
  | "stubborn"
  /** Writes 100 MB first, in about 3 s, then does its work. */
  | "flood"
  /** Asks for input and waits for it. */
  | "ask"
  /** Leaves a child in a session of its own, which has the output open, and does its work. */
  | "leave-grandchild"
  /** Ends as a Go program does that panics. */
  | "panic"
  /** Ignores all signals and never ends. */
  | "ignore-signals";

/**
 * A program that is taken for OpenTofu (NIGARI_TOFU): it is OpenTofu, except that a test can stop
 * it before a command begins, by a file and not by time, or have it misbehave there. What is set
 * `within` a root module holds for the commands in a folder of that name, and goes before what is
 * set for all.
 */
export class TofuGate {
  /** Path for NIGARI_TOFU. */
  readonly program: string;
  readonly #folder: string;

  constructor(folder: string, tofu: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.program = join(folder, "tofu");
    writeFileSync(this.program, script(folder, tofu), { mode: 0o700 });
  }

  set(command: TofuCommandName, mischief: Mischief, within = ""): void {
    writeFileSync(this.#file(command, within, "mode"), mischief);
  }
  /** Lets a held command go; later ones run as always. */
  clear(command: TofuCommandName, within = ""): void {
    rmSync(this.#file(command, within, "mode"), { force: true });
  }
  /** From here on OpenTofu reaches the state door by way of a proxy at this address. */
  lead(proxy: string): void {
    writeFileSync(join(this.#folder, "proxy"), proxy);
  }
  /** How often the command has been begun. */
  calls(command: TofuCommandName, within = ""): number {
    const file = this.#file(command, within, "calls");
    return existsSync(file) ? readFileSync(file, "utf8").length : 0;
  }

  #file(command: TofuCommandName, within: string, what: "mode" | "calls"): string {
    return join(this.#folder, `${within === "" ? "" : `${within}:`}${command}.${what}`);
  }
}

function script(folder: string, tofu: string): string {
  return `#!/bin/sh
gate='${folder}'
within=$(basename "$PWD")
mode="$gate/$within:$1.mode"
[ -e "$mode" ] || mode="$gate/$1.mode"
printf . >>"$gate/$within:$1.calls"
printf . >>"$gate/$1.calls"
if [ -e "$gate/proxy" ] && [ -n "\${TF_HTTP_ADDRESS:-}" ]; then
  to=$(cat "$gate/proxy")/$1
  for each in TF_HTTP_ADDRESS TF_HTTP_LOCK_ADDRESS TF_HTTP_UNLOCK_ADDRESS; do
    eval "$each=\\$to/\\\${$each#http://127.0.0.1:}"
  done
fi
case $(cat "$mode" 2>/dev/null) in
hold) while [ -e "$mode" ]; do sleep 0.05; done ;;
stubborn)
  trap '' INT TERM
  setsid -w '${tofu}' "$@"
  exit ;;
flood)
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    head -c 5000000 /dev/zero | tr '\\0' 'x' | fold -w 999
    sleep 0.1
  done ;;
ask)
  printf 'Enter a value: '
  read -r answer || { echo 'no input' >&2; exit 1; } ;;
leave-grandchild) setsid sleep 300 & ;;
panic)
  echo 'panic: runtime error: invalid memory address or nil pointer dereference' >&2
  exit 2 ;;
ignore-signals)
  trap '' INT TERM HUP
  while :; do sleep 1; done ;;
esac
exec '${tofu}' "$@"
`;
}
