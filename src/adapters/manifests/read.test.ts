import { describe, expect, test } from "vitest";
import { diagnosticText } from "../../api/diagnostic.ts";
import { type ManifestText, readManifests, TEXT_BYTES_MAX } from "./read.ts";

const read = (content: string | Uint8Array, more: Partial<ManifestText> = {}) =>
  readManifests([{ file: "app.yaml", content, ...more }]);
/** What is told of a text, as lines. */
function told(content: string | Uint8Array, more: Partial<ManifestText> = {}): string[] {
  const { errors, warnings } = read(content, more);
  return [...errors, ...warnings].map(diagnosticText);
}
const spec = "spec: {interval: 5m, sourceRef: {kind: GitRepository, name: code}}";
const head = (kind: string, apiVersion: string, name = "app") =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
const terraform = (lines: string, name = "app") =>
  `${head("Terraform", "infra.contrib.fluxcd.io/v1alpha2", name)}spec:
  interval: 5m
  sourceRef: {kind: GitRepository, name: code}
${lines}`;
const repository = (url: string) =>
  `${head("GitRepository", "source.toolkit.fluxcd.io/v1", "code")}spec:
  interval: 1m
  url: ${url}
`;

describe("what is read", () => {
  test("many documents, empty ones left out, each with its namespace", () => {
    const nothing = "---\n\n---\n# nothing\n";
    const text = `# a comment\n---\n${terraform("")}\n${nothing}---\n${head("Secret", "v1")}
stringData: {a: b}
...
`;
    const { objects, errors, warnings } = read(text);
    expect([...errors, ...warnings]).toEqual([]);
    expect(objects).toEqual([
      {
        apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
        kind: "Terraform",
        metadata: { name: "app", namespace: "default" },
        spec: { interval: "5m", sourceRef: { kind: "GitRepository", name: "code" } },
      },
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "app", namespace: "default" },
        stringData: { a: "b" },
      },
    ]);
  });

  test("JSON, also with tabs", () => {
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", namespace: "x" },
      data: { a: "b" },
    };
    expect(read(JSON.stringify(object, undefined, "\t"))).toMatchObject({
      objects: [object],
      errors: [],
      warnings: [],
    });
  });

  test("Lists of any kind and of one kind, and texts with a byte order mark", () => {
    const item = (kind: string, list: string) => `\uFEFFapiVersion: v1
kind: ${list}
items:
- apiVersion: v1
  kind: ${kind}
  metadata: {name: one}
- apiVersion: v1
  kind: ${kind}
  metadata: {name: two}
`;
    for (const list of ["List", "ConfigMapList"]) {
      const { objects, errors } = read(item("ConfigMap", list));
      expect(errors).toEqual([]);
      expect(objects.map(({ metadata }) => metadata.name)).toEqual(["one", "two"]);
    }
  });

  test("anchors and merges", () => {
    const { objects, errors } = read(
      terraform(
        "  vars: [&v {name: a, value: &t {x: 1}}, {<<: *v, name: b}, {name: c, value: *t}]",
      ),
    );
    expect(errors).toEqual([]);
    expect(objects[0]).toMatchObject({
      spec: {
        vars: [
          { name: "a", value: { x: 1 } },
          { name: "b", value: { x: 1 } },
          { name: "c", value: { x: 1 } },
        ],
      },
    });
  });

  test("values of variables keep their types, null among them", () => {
    const vars = "  vars: [{name: a, value: 1.5}, {name: b, value: null}, {name: c, value: 'yes'}]";
    const { objects, errors, warnings } = read(terraform(vars));
    expect([...errors, ...warnings]).toEqual([]);
    expect(objects[0]).toMatchObject({ spec: { vars: [{ value: 1.5 }, { value: null }, {}] } });
  });

  const urls: Record<string, { url: string; read: string }> = {
    "the manifest's own folder": { url: ".", read: "/work/infra" },
    "a folder below it": { url: "./code", read: "/work/infra/code" },
    "a folder beside it": { url: "../code", read: "/work/code" },
    "file: with a path that begins with a dot": { url: "file://./code", read: "/work/infra/code" },
    "an absolute path": { url: "/srv/code", read: "/srv/code" },
    "file: with an absolute path": { url: "file:///srv/code", read: "file:///srv/code" },
    "https stays": { url: "https://example.test/a.git", read: "https://example.test/a.git" },
    "ssh stays": { url: "ssh://git@example.test/a", read: "ssh://git@example.test/a" },
  };
  test.each(Object.entries(urls))(
    "the url of a GitRepository: %s",
    (_, { url, read: expected }) => {
      const { objects, errors } = read(repository(url), { folder: "/work/infra" });
      expect(errors).toEqual([]);
      expect(objects[0]).toMatchObject({ spec: { url: expected } });
    },
  );

  test("the namespace that is meant where none is named", () => {
    const { objects } = readManifests([{ file: "a", content: terraform("") }], "team");
    expect(objects[0]?.metadata.namespace).toBe("team");
  });

  test("a text found in a folder that is no manifest is left out", () => {
    for (const content of ["a: 1\n", "[1, 2]", "services:\n  web: {image: x}\n", ": {", ""]) {
      expect(told(content, { found: true })).toEqual([]);
    }
    expect(
      told(head("Teraform", "infra.contrib.fluxcd.io/v1alpha2"), { found: true }),
    ).toHaveLength(1);
    expect(told("kind: Cluster\nnodes: []\n", { found: true })).toEqual([]);
  });
});

describe("what is told", () => {
  const texts: Record<string, { text: string; told: string[] }> = {
    "a misspelt field": {
      text: terraform("  aprovePlan: auto"),
      told: [
        "app.yaml:7:3: error: Terraform/default/app: unknown field spec.aprovePlan; " +
          "did you mean spec.approvePlan?",
      ],
    },
    "a field with other capitals": {
      text: terraform("  approveplan: auto"),
      told: [
        "app.yaml:7:3: error: Terraform/default/app: unknown field spec.approveplan; " +
          "did you mean spec.approvePlan?",
      ],
    },
    "a field in the wrong place": {
      text: `${head("Terraform", "infra.contrib.fluxcd.io/v1alpha2")}${spec}\nworkspace: blue\n`,
      told: [
        "app.yaml:5:1: error: Terraform/default/app: unknown field workspace; " +
          "did you mean spec.workspace?",
      ],
    },
    "a field of a nested object in the wrong place": {
      text: terraform("  customConfiguration: x"),
      told: [
        "app.yaml:7:3: error: Terraform/default/app: unknown field spec.customConfiguration; " +
          "did you mean spec.backendConfig.customConfiguration?",
      ],
    },
    "a field like no other": {
      text: terraform("  xyzzy: red"),
      told: ["app.yaml:7:3: error: Terraform/default/app: unknown field spec.xyzzy; remove it"],
    },
    "a misspelt field in a list": {
      text: terraform("  varsFrom:\n  - kind: Secret\n    nmae: x"),
      told: [
        "app.yaml:9:5: error: Terraform/default/app: unknown field spec.varsFrom[0].nmae; " +
          "did you mean spec.varsFrom[0].name?",
        "app.yaml:8:5: error: Terraform/default/app: spec.varsFrom[0].name: is missing; add it",
      ],
    },
    "a duration without a unit, as text": {
      text: terraform('  retryInterval: "5"'),
      told: [
        'app.yaml:7:18: error: Terraform/default/app: spec.retryInterval: "5" is not a duration; ' +
          "write a number with a unit such as 5m",
      ],
    },
    "a duration without a unit, as a number": {
      text: terraform("  retryInterval: 5"),
      told: [
        "app.yaml:7:18: error: Terraform/default/app: spec.retryInterval: 5 is not a duration; " +
          "write a number with a unit such as 5m",
      ],
    },
    "an interval of nothing": {
      text: terraform("").replace("5m", "0s"),
      told: [
        'app.yaml:5:13: error: Terraform/default/app: spec.interval: "0s" is not longer than 0; ' +
          "write 5m or so",
      ],
    },
    "a negative duration": {
      text: terraform("  retryInterval: -5s"),
      told: [
        'app.yaml:7:18: error: Terraform/default/app: spec.retryInterval: "-5s" is negative; ' +
          'remove the "-"',
      ],
    },
    "a missing interval": {
      text: `${head("Terraform", "infra.contrib.fluxcd.io/v1alpha2")}spec: {sourceRef: {name: a}}`,
      told: [
        "app.yaml:4:19: error: Terraform/default/app: spec.sourceRef.kind: is missing; " +
          "add GitRepository, Bucket or OCIRepository",
        "app.yaml:4:7: error: Terraform/default/app: spec.interval: is missing; " +
          "add a duration such as 5m",
      ],
    },
    "a missing spec": {
      text: head("Terraform", "infra.contrib.fluxcd.io/v1alpha2"),
      told: ["app.yaml:1:1: error: Terraform/default/app: spec: is missing; add it"],
    },
    "a kind of source that does not exist": {
      text: terraform("").replace("kind: GitRepository", "kind: GitRepo"),
      told: [
        'app.yaml:6:21: error: Terraform/default/app: spec.sourceRef.kind: "GitRepo" is not one ' +
          "of GitRepository, Bucket, OCIRepository",
      ],
    },
    "a word nearly right": {
      text: terraform("  storeReadablePlan: humann"),
      told: [
        'app.yaml:7:22: error: Terraform/default/app: spec.storeReadablePlan: "humann" is not ' +
          "one of none, json, human; did you mean human?",
      ],
    },
    "true and false in quotes": {
      text: terraform('  destroy: "true"'),
      told: [
        "app.yaml:7:12: error: Terraform/default/app: spec.destroy: must be true or false, " +
          "not text; remove the quotes",
      ],
    },
    "yes for true": {
      text: terraform("  destroy: yes"),
      told: [
        "app.yaml:7:12: error: Terraform/default/app: spec.destroy: must be true or false, " +
          "not text",
      ],
    },
    "a number where text must be, which may be a secret": {
      text: terraform("  runnerPodTemplate: {spec: {env: [{name: PIN, value: 1234}]}}"),
      told: [
        "app.yaml:7:55: error: Terraform/default/app: spec.runnerPodTemplate.spec.env[0].value: " +
          "must be text, not a number; put it in quotes",
      ],
    },
    "a list where text must be": {
      text: terraform("  path: [a]"),
      told: ["app.yaml:7:9: error: Terraform/default/app: spec.path: must be text, not a list"],
    },
    "text where a list must be": {
      text: terraform("  targets: a.b"),
      told: [
        "app.yaml:7:12: error: Terraform/default/app: spec.targets: must be a list, not text; " +
          'begin each item with "- "',
      ],
    },
    "text where a map must be": {
      text: terraform("  tfstate: auto"),
      told: [
        "app.yaml:7:12: error: Terraform/default/app: spec.tfstate: must be a map of fields, " +
          "not text",
      ],
    },
    "a fraction": {
      text: terraform("  parallelism: 1.5"),
      told: [
        "app.yaml:7:16: error: Terraform/default/app: spec.parallelism: must be a whole number, " +
          "not a fraction",
      ],
    },
    "a field without a value": {
      text: terraform("  path:"),
      told: [
        "app.yaml:7:3: warning: Terraform/default/app: spec.path: has no value and is ignored; " +
          "give it one or remove it",
      ],
    },
    "a needed field without a value": {
      text: terraform("").replace("interval: 5m", "interval:"),
      told: [
        "app.yaml:5:3: error: Terraform/default/app: spec.interval: has no value; give it one",
      ],
    },
    "an empty name": {
      text: terraform("", '""'),
      told: ["app.yaml:3:18: error: Terraform without a name: metadata.name: must not be empty"],
    },
    "no name": {
      text: terraform("").replace("name: app", ""),
      told: ["app.yaml:3:11: error: Terraform without a name: metadata.name: is missing; add it"],
    },
    "no metadata": {
      text: "apiVersion: v1\nkind: Secret\n",
      told: ["app.yaml:1:1: error: Secret without a name: metadata: is missing; add it"],
    },
    "a name with capitals": {
      text: terraform("", "App"),
      told: [
        'app.yaml:3:18: error: Terraform/default/App: metadata.name: "App" is no valid name; use ' +
          'lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit',
      ],
    },
    "a name too long": {
      text: terraform("", "a".repeat(254)),
      told: [
        `app.yaml:3:18: error: Terraform/default/${"a".repeat(254)}: metadata.name: ` +
          "is longer than 253 characters; shorten it",
      ],
    },
    "a label that is a number": {
      text: `apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels:\n    n: 5\n`,
      told: [
        "app.yaml:6:8: error: Secret/default/a: metadata.labels.n: must be text, not a number; " +
          "put it in quotes",
      ],
    },
    "a value of a Secret that is not base64, which is not shown": {
      text: `${head("Secret", "v1")}data: {password: hunter2!}\n`,
      told: [
        "app.yaml:4:18: error: Secret/default/app: data.password: is not base64; " +
          "put plain text under stringData",
      ],
    },
    "a value of a ConfigMap that is a number": {
      text: `${head("ConfigMap", "v1")}data:\n  port: 80\n`,
      told: [
        "app.yaml:5:9: error: ConfigMap/default/app: data.port: must be text, not a number; " +
          "put it in quotes",
      ],
    },
    "a slip in auto, which would mean the id of a plan": {
      text: terraform("  approvePlan: Auto"),
      told: [
        'app.yaml:7:16: warning: Terraform/default/app: spec.approvePlan: "Auto" is taken as ' +
          "the id of a plan; did you mean auto?",
      ],
    },
    "a key renamed twice": {
      text: terraform("  varsFrom: [{kind: Secret, name: a, varsKeys: ['a:b:c']}]"),
      told: [
        'app.yaml:7:49: error: Terraform/default/app: spec.varsFrom[0].varsKeys[0]: "a:b:c" is ' +
          "no key; write key or key:newName",
      ],
    },
    "a file's path with a space": {
      text: terraform('  fileMappings: [{secretRef: {name: a}, location: home, path: "a  b"}]'),
      told: [
        'app.yaml:7:63: error: Terraform/default/app: spec.fileMappings[0].path: "a  b" does not ' +
          "match ^([^/_a-zA-Z0-9\\n]?[/_a-zA-Z0-9])*$",
      ],
    },
    "a field of Flux that is not obeyed": {
      text: `${repository("/srv/code")}  verify: {mode: HEAD}\n`,
      told: [
        "app.yaml:7:3: error: GitRepository/default/code: spec.verify: is not obeyed by this " +
          "version; remove it",
      ],
    },
    "a url in scp's form": {
      text: repository("git@example.test:team/code.git"),
      told: [
        "app.yaml:6:8: error: GitRepository/default/code: spec.url: has scp's form host:path; " +
          "write ssh://git@host/path",
      ],
    },
    "a url that is none": {
      text: repository("code"),
      told: [
        "app.yaml:6:8: error: GitRepository/default/code: spec.url: is no address of a " +
          "repository; write https://, ssh:// or file://, an absolute path, " +
          "or in a manifest a path that begins with ./",
      ],
    },
    "a relative url in a text that lies in no folder": {
      text: repository("./code"),
      told: [
        'app.yaml:6:8: error: GitRepository/default/code: spec.url: "./code" is relative to no ' +
          "folder here; write an absolute path",
      ],
    },
    "a Terraform of the old version": {
      text: terraform("").replace("v1alpha2", "v1alpha1"),
      told: [
        "app.yaml:1:13: warning: Terraform/default/app: v1alpha1 Terraform is deprecated, " +
          "upgrade to v1alpha2; read as infra.contrib.fluxcd.io/v1alpha2",
      ],
    },
    "a Terraform of a version that never was": {
      text: terraform("").replace("v1alpha2", "v1"),
      told: [
        'app.yaml:1:13: error: Document 1: Terraform of apiVersion "infra.contrib.fluxcd.io/v1" ' +
          "is not read; write infra.contrib.fluxcd.io/v1alpha2",
      ],
    },
    "an apiVersion with a slip": {
      text: terraform("").replace("infra.contrib", "infra.contirb"),
      told: [
        "app.yaml:1:13: error: Document 1: Terraform of apiVersion " +
          '"infra.contirb.fluxcd.io/v1alpha2" is not read; write infra.contrib.fluxcd.io/v1alpha2',
      ],
    },
    "a GitRepository of an old version": {
      text: repository("/a").replace("toolkit.fluxcd.io/v1", "toolkit.fluxcd.io/v1beta2"),
      told: [
        "app.yaml:1:13: error: Document 1: GitRepository of apiVersion " +
          '"source.toolkit.fluxcd.io/v1beta2" is not read; write source.toolkit.fluxcd.io/v1',
      ],
    },
    "a kind with a slip": {
      text: head("Teraform", "infra.contrib.fluxcd.io/v1alpha2"),
      told: ['app.yaml:2:7: error: Document 1: unknown kind "Teraform"; did you mean Terraform?'],
    },
    "a kind in the plural": {
      text: head("Secrets", "v1"),
      told: ['app.yaml:2:7: error: Document 1: unknown kind "Secrets"; did you mean Secret?'],
    },
    "a kind that tofu-controller does not have": {
      text: head("Plan", "infra.contrib.fluxcd.io/v1alpha2"),
      told: [
        'app.yaml:2:7: error: Document 1: unknown kind "Plan"; infra.contrib.fluxcd.io has only ' +
          "Terraform",
      ],
    },
    "kinds of others, told once each": {
      text: [
        head("Deployment", "apps/v1", "a"),
        head("Deployment", "apps/v1", "b"),
        head("Bucket", "s3.aws.crossplane.io/v1beta1"),
        head("HelmRepository", "source.toolkit.fluxcd.io/v1"),
        head("Namespace", "v1"),
        head("Lease", "coordination.k8s.io/v1"),
      ].join("---\n"),
      told: [
        "app.yaml:1:1: warning: Deployment (apps/v1): skipped, Nigari keeps no objects of this " +
          "kind (2 objects)",
        "app.yaml:9:1: warning: Bucket (s3.aws.crossplane.io/v1beta1): skipped, Nigari keeps no " +
          "objects of this kind",
        "app.yaml:13:1: warning: HelmRepository (source.toolkit.fluxcd.io/v1): skipped, Nigari " +
          "keeps no objects of this kind",
        "app.yaml:17:1: warning: Namespace (v1): skipped, Nigari keeps no objects of this kind",
        "app.yaml:21:1: warning: Lease (coordination.k8s.io/v1): skipped, is made by Nigari, " +
          "not by a manifest",
      ],
    },
    "no kind": {
      text: "apiVersion: v1\nmetadata: {name: a}\n",
      told: [
        "app.yaml:1:1: error: Document 1: has no kind; every object needs apiVersion and kind",
      ],
    },
    "no apiVersion": {
      text: "kind: Terraform\nmetadata: {name: a}\n",
      told: [
        'app.yaml:1:1: error: Document 1: "Terraform" has no apiVersion; ' +
          "add apiVersion: infra.contrib.fluxcd.io/v1alpha2",
      ],
    },
    "a document that is a list, another that is text": {
      text: "- a\n---\nhello\n",
      told: [
        "app.yaml:1:1: error: Document 1: is a list, not an object with apiVersion, kind and " +
          "metadata",
        "app.yaml:3:1: error: Document 2: is plain text, not an object with apiVersion, kind and " +
          "metadata",
      ],
    },
    "an item of a List": {
      text:
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n" +
        "  metadata: {}\n- 5\n",
      told: [
        "app.yaml:6:13: error: Secret without a name: metadata.name: is missing; add it",
        "app.yaml:7:3: error: Document 1, items[1]: is plain text, not an object with " +
          "apiVersion, kind and metadata",
      ],
    },
    "a List without items": {
      text: "apiVersion: v1\nkind: List\n",
      told: ["app.yaml:2:7: error: Document 1: List has no items; add a list of objects"],
    },
    "a List in a List": {
      text: "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: []}]}",
      told: ["app.yaml:1:38: error: Document 1, items[0]: a List inside a List is not read"],
    },
    "an object defined twice": {
      text: `${terraform("")}---\n${terraform("")}`,
      told: [
        "app.yaml:8:1: error: Terraform/default/app: is defined twice, first at app.yaml:1; " +
          "remove one",
      ],
    },
    "an object as it was written out of a store": {
      text: `${head("Secret", "v1").replace("{name: app}", "{name: app, uid: u, generation: 1}")}`,
      told: [
        "app.yaml:3:23: warning: Secret/default/app: metadata.uid, metadata.generation are set " +
          "by the store and ignored",
      ],
    },
    "a status": {
      text: `${terraform("")}status: {observedGeneration: 3}\n`,
      told: [
        "app.yaml:7:1: warning: Terraform/default/app: status is set by the store and ignored",
      ],
    },
    "a key written twice": {
      text: terraform("  path: a\n  destroy: true\n  path: b"),
      told: ["app.yaml:9:3: error: Document 1: the key path is written twice; remove one"],
    },
    "a tab": {
      text: "apiVersion: v1\nkind: Secret\nmetadata:\n\tname: a\n",
      told: ["app.yaml:4:1: error: Document 1: a tab indents this line; use spaces"],
    },
    "a line out of line": {
      text: "metadata:\n   name: a\n  labels: {}\n",
      told: [
        "app.yaml:3:1: error: Document 1: this line is not indented like those it belongs to; " +
          "align it",
      ],
    },
    "a colon in a value": {
      text: "a: b: c\n",
      told: ['app.yaml:1:4: error: Document 1: a value holds ": "; put the value in quotes'],
    },
    "a quote that stays open": {
      text: 'a: "b\nc: d\n',
      told: ["app.yaml:3:1: error: Document 1: a quote or bracket is opened but not closed"],
    },
    "a bracket too many": {
      text: "a: [b]]\n---\nc: d]\n",
      told: ["app.yaml:1:7: error: Document 1: a bracket is closed that was not opened"],
    },
    "a key without a colon": {
      text: "a: 1\nb\n",
      told: ['app.yaml:2:1: error: Document 1: a ":" is missing after a key'],
    },
    "a template": {
      text: "a: {{ .Values.x }}\n",
      told: [
        "app.yaml:1:5: error: Document 1: a key is no text; " +
          "put a template such as {{ … }} in quotes",
      ],
    },
    "a value that begins with @": {
      text: "a: @b\n",
      told: [
        "app.yaml:1:4: error: Document 1: a value cannot begin with this character; " +
          "put the value in quotes",
      ],
    },
    "an escape that is none": {
      text: 'a: "\\d"\n',
      told: [
        "app.yaml:1:5: error: Document 1: an unknown escape in double quotes; " +
          "use single quotes, or write \\\\",
      ],
    },
    "a tag": {
      text: "a: !secret b\n",
      told: [
        "app.yaml:1:4: error: Document 1: a tag is not known; remove the word that begins with !",
      ],
    },
    "an alias without an anchor": {
      text: "a: *b\n",
      told: ["app.yaml:1:4: error: Document 1: the alias *b has no anchor &b before it"],
    },
    "a number too large to be exact": {
      text: terraform("  vars: [{name: a, value: 12345678901234567890}]"),
      told: [
        "app.yaml:7:27: error: Document 1: the number is too large to be kept exactly; " +
          "put it in quotes",
      ],
    },
    "a number that JSON does not know": {
      text: "a: .inf\n",
      told: ["app.yaml:1:4: error: Document 1: is no number that JSON knows; put it in quotes"],
    },
    "one document wrong, the others are read all the same": {
      text: `a: [\n---\n${terraform("  xyzzy: red")}`,
      told: [
        "app.yaml:2:1: error: Document 1: a bracket is opened but not closed, or closed further " +
          "left than it may be",
        "app.yaml:9:3: error: Terraform/default/app: unknown field spec.xyzzy; remove it",
      ],
    },
  };
  test.each(Object.entries(texts))("%s", (_, { text, told: expected }) => {
    expect(told(text)).toEqual(expected);
  });

  test("a warning leaves the object in, without what was ignored", () => {
    const { objects } = read(`${terraform("  path:")}\nstatus: {}\n`);
    expect(objects).toHaveLength(1);
    expect(objects[0]).not.toHaveProperty("status");
    expect(objects[0]).not.toHaveProperty(["spec", "path"]);
    const old = read(terraform("").replace("v1alpha2", "v1alpha1"));
    expect(old.objects[0]?.apiVersion).toBe("infra.contrib.fluxcd.io/v1alpha2");
  });

  test("an object with an error is not read, nor is one of its twins twice", () => {
    expect(read(terraform("  xyzzy: red")).objects).toEqual([]);
    expect(read(`${terraform("")}---\n${terraform("")}`).objects).toHaveLength(1);
  });

  test("twins in two files are told with both places", () => {
    const { errors } = readManifests([
      { file: "a.yaml", content: terraform("") },
      { file: "b.yaml", content: `# later\n${terraform("")}` },
    ]);
    expect(errors.map(diagnosticText)).toEqual([
      "b.yaml:2:1: error: Terraform/default/app: is defined twice, first at a.yaml:1; remove one",
    ]);
  });

  test("a text that is not UTF-8", () => {
    expect(told(new Uint8Array([0x61, 0xff, 0x62]))).toEqual([
      "app.yaml: error: The file is not UTF-8 text; save it as UTF-8",
    ]);
  });

  test("a text that is too large", () => {
    const bytes = TEXT_BYTES_MAX + 1;
    expect(told("#".repeat(bytes))).toEqual([
      `app.yaml: error: The file has ${bytes} bytes; at most ${TEXT_BYTES_MAX} are read, ` +
        "so split it",
    ]);
  });
});
