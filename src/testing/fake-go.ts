import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** A folder of scripts that stands in for PATH, and a package root with pins; for unit tests. */
export interface FakeMachine {
  readonly root: string;
  /** PATH holds the fakes and what their scripts need, and nothing of this machine besides. */
  readonly env: Record<string, string>;
  /** Puts an executable script on PATH. Answers with its path. */
  program(name: string, script: string): string;
  /** How Go was called so far: "list", "build" … */
  goCalls(): string[];
}

export interface FakeGo {
  readonly version?: string;
  readonly toolchain?: string;
  /** Shell lines that run in place of the build; `$out` is the file to write. */
  readonly build?: string;
}

export const TOFU_SCRIPT = 'echo "OpenTofu v1.12.6"; echo "on linux_amd64"';

export function fakeMachine(scratch: string): FakeMachine {
  const bin = join(scratch, "bin");
  const root = join(scratch, "root");
  mkdirSync(bin);
  mkdirSync(join(root, "src"), { recursive: true });
  mkdirSync(join(root, "tools"), { recursive: true });
  writeFileSync(
    join(root, "tools/go.mod"),
    "module x\n\ngo 1.26.6\n\nrequire github.com/opentofu/opentofu v1.12.6 // indirect\n",
  );
  writeFileSync(join(root, "tools/go.sum"), "");
  const calls = join(scratch, "go.calls");
  for (const name of ["env", "sleep", "touch"]) {
    const file = ["/usr/bin", "/bin"].map((each) => join(each, name)).find(existsSync);
    if (file === undefined) throw new Error(`Program ${name} is in neither /usr/bin nor /bin`);
    symlinkSync(file, join(bin, name));
  }
  return {
    root,
    env: { PATH: bin, HOME: scratch, FAKE_GO_CALLS: calls },
    program(name, script) {
      const path = join(bin, name);
      writeFileSync(path, `#!/bin/sh\n${script}\n`);
      chmodSync(path, 0o755);
      return path;
    },
    goCalls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []),
  };
}

/** A `go` that says what Go says and "builds" a script that says it is OpenTofu. */
export function goScript({ version = "1.26.8", toolchain = "auto", build }: FakeGo = {}): string {
  return `echo "$1" >>"$FAKE_GO_CALLS"
case "$1 $2" in
"env GOVERSION") echo go${version}; exit ;;
"env GOTOOLCHAIN") echo ${toolchain}; exit ;;
esac
if [ "$1" = list ]; then
  echo "go: downloading example.org/a v1.0.0" >&2
  echo "go: downloading example.org/b v1.0.0" >&2
  printf 'example.org/a\\nexample.org/b\\n%s\\n' "$3"; exit
fi
while [ "$1" != -o ]; do shift; done
out=$2
${build ?? GOOD_BUILD}`;
}

const GOOD_BUILD = `printf 'example.org/a\\nexample.org/b\\n%s\\n' "$3" >&2
printf '#!/bin/sh\\n${TOFU_SCRIPT}\\n' >"$out"`;
