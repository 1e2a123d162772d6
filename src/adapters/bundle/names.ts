/** Which pod, container and life a log belongs to, told from its path. */
export interface LogName {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly container: string | undefined;
  readonly previous: boolean;
}

export interface KnownPod {
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly string[];
}

/** Programs that write logs beside pods, by a word in the path. */
const programs: readonly { readonly name: string; readonly fits: RegExp }[] = [
  { name: "etcd", fits: /(^|[/_.-])etcd([/_.-]|$)/ },
  { name: "kube-apiserver", fits: /(^|[/_.-])(kube-)?apiserver([/_.-]|$)/ },
];

/** Finds pods by name in paths: made once, asked for each log. */
export class PodNames {
  /** Longest first, so that `edge-cdn-tf-runner` is not taken for `cdn-tf-runner`. */
  readonly #pods: readonly KnownPod[];
  readonly #namespaces: readonly string[];

  constructor(pods: readonly KnownPod[], namespaces: readonly string[]) {
    this.#pods = [...pods].sort((one, two) => weight(two) - weight(one));
    this.#namespaces = [...namespaces].sort((one, two) => two.length - one.length);
  }

  /** The longest known `namespace/pod` in the path; else what the usual forms of path say. */
  of(path: string): LogName {
    const previous = /(^|[/_.-])previous([/_.-]|$)/.test(path);
    const plain = path.replace(/\.(log|txt|json)$/, "");
    const known = this.#known(plain);
    if (known !== undefined) return { ...known, previous };
    const program = programs.find((row) => row.fits.test(plain));
    return { ...(this.#byForm(plain) ?? fallback(plain, program?.name)), previous };
  }

  #known(path: string): Omit<LogName, "previous"> | undefined {
    let best: KnownPod | undefined;
    let bestScore = 0;
    for (const pod of this.#pods) {
      if (!path.includes(pod.name) || wordAt(path, pod.name) < 0) continue;
      const score = pod.name.length * 2 + (wordAt(path, pod.namespace) >= 0 ? 1 : 0);
      if (score > bestScore) {
        best = pod;
        bestScore = score;
      }
    }
    if (best === undefined) return undefined;
    const rest = path.slice(wordAt(path, best.name) + best.name.length);
    const container = best.containers.find((each) => wordAt(rest, each) >= 0);
    return {
      namespace: best.namespace,
      name: best.name,
      container: container ?? (best.containers.length === 1 ? best.containers[0] : undefined),
    };
  }

  /** `<namespace>_<pod>[_<container>]`, `<namespace>/<pod>[/<container>]` of a pod that is gone. */
  #byForm(path: string): Omit<LogName, "previous"> | undefined {
    for (const namespace of this.#namespaces) {
      const at = wordAt(path, namespace);
      if (at < 0) continue;
      const rest = path.slice(at + namespace.length + 1).replace(/[._-]previous$/, "");
      const [name, container] = rest.split(/[/_]/);
      if (name !== undefined && name !== "") return { namespace, name, container };
    }
    return undefined;
  }
}

const weight = (pod: KnownPod) => pod.name.length;

function fallback(path: string, program: string | undefined): Omit<LogName, "previous"> {
  const base = (path.split("/").at(-1) ?? path).replace(/[._-]previous$/, "");
  return { namespace: undefined, name: program ?? base, container: undefined };
}

/** Where `name` stands as a whole name, and not as a part of a longer one; -1 if nowhere. */
function wordAt(path: string, name: string): number {
  for (let at = path.indexOf(name); at >= 0; at = path.indexOf(name, at + 1)) {
    const before = at === 0 ? "/" : path[at - 1];
    const after = path[at + name.length] ?? "/";
    if (edge(before) && edge(after)) return at;
  }
  return -1;
}

const edge = (character: string | undefined) => !/[a-z0-9-]/.test(character ?? "/");
