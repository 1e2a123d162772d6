import { readdirSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { run } from "../cluster/commands.ts";
import { pinnedTools } from "../pinned-tools.ts";
import type { Image } from "./image.ts";
import type { ImageFile, ImageFiles } from "./layer.ts";

// What the shipped images hold, taken from this machine's files instead of from a registry. A name
// needs a domain with a dot, or it would be one of docker.io's; and a tag that is not "latest", or
// the kubelet would try to pull what is there already.

/** Holds a pod's network namespace open. */
export const PAUSE_IMAGE = "nigari.test/pause:1";
export const RUNNER_IMAGE = "nigari.test/runner:1";
export const CONTROLLER_IMAGE = "nigari.test/controller:1";
/** A user's own: C and C++ libraries, a shell, OpenTofu in a place of its own, nothing of ours. */
export const FOREIGN_IMAGE = "nigari.test/foreign:1";
/** Another one, as small as can be: no shared library, and OpenTofu calls itself terraform. */
export const BARE_IMAGE = "nigari.test/bare:1";

const root = join(import.meta.dirname, "../../..");
const USER = "65532:65532";

/** It sleeps, ends when asked to, and reaps what is left to it. */
export function pauseImage(): Image {
  const script = "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait $!; done";
  return {
    name: PAUSE_IMAGE,
    layers: [shell()],
    entrypoint: ["/bin/busybox", "sh", "-c", script],
  };
}

/**
 * Of the runner and of the controller. They need `npm run build` and `npm run tools` before, and
 * share their first layer.
 */
export function ourImages(): Image[] {
  const { tofu } = pinnedTools();
  const base = { ...system(), ...withLibraries(nodeProgram(), "usr/local/bin/node") };
  const common = { user: USER, workingFolder: "/home/nigari" };
  const dist = join(root, "dist");
  // The programs read their version there.
  const manifest = { "opt/nigari/package.json": { from: join(root, "package.json") } };
  return [
    {
      ...{ ...common, name: RUNNER_IMAGE },
      layers: [
        base,
        { "usr/local/bin/tofu": { from: tofu }, ...providerMirror() },
        { ...manifest, "opt/nigari/dist/runner-pod.js": { from: join(dist, "runner-pod.js") } },
      ],
      entrypoint: ["/usr/local/bin/node", "/opt/nigari/dist/runner-pod.js"],
      // Where a pod mounts its home; the rest of the image cannot be written.
      env: { ...environment, HOME: "/home/runner", TF_CLI_CONFIG_FILE: "/etc/nigari/tofu.rc" },
    },
    {
      ...{ ...common, name: CONTROLLER_IMAGE },
      layers: [base, { ...manifest, ...below("opt/nigari/dist", dist, (name) => name !== "meta") }],
      entrypoint: [
        "/usr/local/bin/node",
        "--max-semi-space-size=1",
        "/opt/nigari/dist/controller.js",
      ],
      env: environment,
    },
  ];
}

/** Images of users, into which a runner has to be brought. */
export function foreignImages(): Image[] {
  const tofu: ImageFiles = {
    "opt/iac/bin/tofu": { from: pinnedTools().tofu },
    ...providerMirror(),
  };
  const common = { ...shell(), ...people("worker", 1000), tmp: sticky };
  const of = (name: string, path: string, files: ImageFiles): Image => ({
    name,
    layers: [tofu, { ...common, ...files }],
    entrypoint: ["/bin/sh"],
    user: "1000:1000",
    workingFolder: "/home/worker",
    env: { PATH: path, HOME: "/home/worker", TF_CLI_CONFIG_FILE: "/etc/nigari/tofu.rc" },
  });
  return [
    of(FOREIGN_IMAGE, "/opt/iac/bin:/bin", librariesOf(nodeProgram())),
    of(BARE_IMAGE, "/usr/bin:/bin", { "usr/bin/terraform": { link: "/opt/iac/bin/tofu" } }),
  ];
}

const environment = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/home/nigari",
  CHECKPOINT_DISABLE: "1",
  SSL_CERT_FILE: "/etc/ssl/certs/ca-certificates.crt",
};

/** Anybody may write there, and nobody remove what is another's. */
const sticky: ImageFile = { folder: true, mode: 0o1777 };

function system(): ImageFiles {
  return {
    ...shell(),
    ...people("nigari", 65_532),
    tmp: sticky,
    "etc/ssl/certs/ca-certificates.crt": { from: "/etc/ssl/certs/ca-certificates.crt" },
  };
}

function people(name: string, id: number): ImageFiles {
  return {
    "etc/passwd": {
      text: `root:x:0:0::/root:/bin/sh\n${name}:x:${id}:${id}::/home/${name}:/bin/sh\n`,
    },
    // Without it names of /etc/hosts are asked for last, if at all.
    "etc/nsswitch.conf": { text: "hosts: files dns\n" },
    "etc/group": { text: `root:x:0:\n${name}:x:${id}:\n` },
    [`home/${name}`]: { folder: true, mode: 0o755, owner: id },
  };
}

function shell(): ImageFiles {
  const program = realpathSync(run("which", "busybox").trim());
  const names = run(program, "--list").trim().split("\n");
  const links = names.filter((name) => name !== "busybox" && !name.includes("/"));
  return {
    "bin/busybox": { from: program },
    ...Object.fromEntries(links.map((name) => [`bin/${name}`, { link: "busybox" }])),
  };
}

/** Provider `time` as a filesystem mirror, and a configuration that takes every provider there. */
function providerMirror(): ImageFiles {
  const folder = "usr/share/tofu/providers";
  const config = `provider_installation {
  filesystem_mirror {
    path = "/${folder}"
  }
}
`;
  return { ...below(folder, pinnedTools().providers), "etc/nigari/tofu.rc": { text: config } };
}

/** The Node that everything of ours runs on, which comes with the npm packages. */
function nodeProgram(): string {
  return realpathSync(process.execPath);
}

/** A program with the shared libraries that it loads, each where it looks for it. */
function withLibraries(program: string, path: string): ImageFiles {
  return { [path]: { from: program }, ...librariesOf(program) };
}

function librariesOf(program: string): ImageFiles {
  const files = [...run("ldd", program).matchAll(/(\/\S+)/g)].flatMap(([, file]) => file ?? []);
  return Object.fromEntries(
    files.map((file) => [file.slice(1), { from: realpathSync(file), mode: 0o755 }]),
  );
}

/** Every file below a folder of this machine, under another name. */
function below(target: string, folder: string, take = (_name: string) => true): ImageFiles {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return Object.fromEntries(
    entries.flatMap((entry) => {
      const from = join(entry.parentPath, entry.name);
      const name = from.slice(folder.length + 1);
      const wanted = entry.isFile() && take(name.split("/")[0] ?? basename(name));
      return wanted ? [[`${target}/${name}`, { from }]] : [];
    }),
  );
}
