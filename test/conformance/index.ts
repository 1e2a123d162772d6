/**
 * Every case of tofu-controller's own tests (0.16.5), by number or name, and what holds it here: a
 * test, as `file: title` with the title's beginning, or the reason why there is none. Held against
 * `upstreamCases` and against the files by index.test.ts.
 */
export type Held = { readonly test: string } | { readonly without: Why; readonly because: string };

/** Why a case has no test here. */
export type Why =
  /** It is about pods, or about how the controller reaches them. */
  | "needs a pod"
  /** It is about a field or file that this version refuses, by name. */
  | "not obeyed"
  /** It is about a program or function that Nigari does not have. */
  | "no such part";

const plans = (title: string): Held => ({ test: `test/conformance/plans.test.ts: ${title}` });
const outputs = (title: string): Held => ({ test: `test/conformance/outputs.test.ts: ${title}` });
const inputs = (title: string): Held => ({ test: `test/conformance/inputs.test.ts: ${title}` });
const life = (title: string): Held => ({ test: `test/conformance/lifecycle.test.ts: ${title}` });
const decides = (title: string): Held => ({
  test: `test/conformance/decisions.test.ts: ${title}`,
});
const source = (file: string, title: string): Held => ({ test: `src/${file}: ${title}` });
const real = (file: string, title: string): Held => ({ test: `test/real/${file}: ${title}` });
const pod = (because: string): Held => ({ without: "needs a pod", because });
const refused = (because: string): Held => ({ without: "not obeyed", because });
const none = (because: string): Held => ({ without: "no such part", because });

/** Of controllers/tc*_test.go. */
export const numbered: Readonly<Record<string, Held>> = {
  "000010 no outputs": plans("000010"),
  "000011 bad tar.gz": plans("000011 a bad archive"),
  "000011 workspace": plans("000011 workspace"),
  "000012 bucket": plans("000012 a Bucket"),
  "000012 ocirepository": plans("000012 an OCIRepository"),
  "000013 source not found": life("000013, 000191 no"),
  "000014 artifact not found": life("000014"),
  "000015 cliconfigsecret": life("000015 of the CLI configuration"),
  "000015 depends_on": life("000015 of a dependency"),
  "000015 source": life("000015 of the source"),
  "000016 default observed generation": life("000016 observedGeneration"),
  "000016 finalize status": life("000016 a request"),
  "000020 with backend": plans("000020"),
  "000020 with workspace": plans("000020"),
  "000030 plan only": plans("000030"),
  "000031 show plan as ConfigMap": plans("000031"),
  "000040 controlled outputs": outputs("000040 holds"),
  "000041 all outputs": outputs("000041"),
  "000042 dots": outputs("000042"),
  "000043 reconciled outputs": outputs("000043"),
  "000044 plan only mode": plans("000044"),
  "000050 manual approve": plans("000050 the id"),
  "000051 replan": plans("000051"),
  "000052 with files": plans("000052"),
  "000053 source change": plans("000053"),
  "000054 spec change": plans("000054"),
  "000060 vars": inputs("000060"),
  "000061 hcl input": inputs("000061"),
  "000061 hcl output": outputs("000061"),
  "000062 vars hcl": inputs("000062"),
  "000063 values": inputs("000063"),
  "000064 template": real("runner-inputs.test.ts", "a root module that is a template"),
  "000070 varsFrom secret": inputs("000070"),
  "000071 varsKeys": inputs("000071"),
  "000072 optional": inputs("000072"),
  "000073 many secrets": inputs("000073"),
  "000074 precedence": inputs("000074"),
  "000075 rename": inputs("000075"),
  "000080 configmap": inputs("000080"),
  "000081 many configmaps": inputs("000081"),
  "000082 configmap precedence": inputs("000082"),
  "000090 override": inputs("000090"),
  "000100 source changed, manual": plans("000100"),
  "000110 source changed, auto": plans("000110"),
  "000111 s3 backend": inputs("000111"),
  "000120 delete": life("000120 plan"),
  "000121 destroy on delete": life("000121"),
  "000130 destroy": life("000130"),
  "000131 destroy, no changes": life("000131"),
  "000140 drift, auto": life("000140 is"),
  "000150 drift, manual": life("000150"),
  "000160 unrelated source": plans("000160"),
  "000170 apply error": life("000170"),
  "000180 should detect drift": decides("000180"),
  "000190 unsupported kind": life("000190"),
  "000191 missing source": life("000013, 000191 no"),
  "000200 disable drift": decides("000200"),
  "000201 disabled drift, auto": life("000201"),
  "000210 gzip": plans("000210"),
  "000220 config file": refused("spec.cloud"),
  "000230 drift only": life("000230"),
  "000240 health": source("runner/health.test.ts", "a port that takes the connection"),
  "000241 health, auto": outputs("000241 are"),
  "000242 bad health": outputs("000242"),
  "000243 remediation": life("000243 as many"),
  "000260 pod": pod("the runner's pod"),
  "000260 env vars": pod("the pod's environment"),
  "000260 env vars, proxy": pod("the pod's environment"),
  "000260 env vars, overwrite": pod("the pod's environment"),
  "000260 proxy output": inputs("000260 proxies"),
  "000260 provider vars, value": inputs("000260 a value"),
  "000260 provider vars, no value": none("upstream skips it"),
  "000260 provider vars, secretRef": inputs("000260 from a Secret"),
  "000260 provider vars, configMapRef": inputs("000260 from a ConfigMap"),
  "000280 inventory": outputs("000280"),
  "000281 manifest, no outputs": outputs("000281"),
  "000290 lock identifier": life("000290 is named"),
  "000290 yes": life("000290 yes"),
  "000290 auto": life("000290 auto"),
  "000300 targets": plans("000300"),
  "000310 node selector, affinity, tolerations": pod("where a pod is placed"),
  "000311 init container": pod("init containers"),
  "000311 delay all outputs": pod("init containers"),
  "000320 volumes and mounts": pod("volumes"),
  "000330 file mapping": inputs("000330"),
  "000340 payloads": refused("spec.webhooks"),
  "000340 webhooks": refused("spec.webhooks"),
  "000350 depends_on": life("000350"),
  "000360 tfvars": inputs("000360"),
  "000360 bad path": source("runner/artifact.test.ts", "a variable file is found"),
  "000361 quota": pod("the quota of pods"),
  "000362 plan lock": plans("000362"),
  "000362 state labels": inputs("000362 only those"),
  "009990 mtls": pod("certificates between controller and pods"),
};

/** Of the other tests of controllers/. */
export const controllerUnits: Readonly<Record<string, Held>> = {
  ShouldReconcile: source("domain/steps/due.test.ts", "the gate, for objects of before"),
  GracefulShutdown: source("engine/engine.test.ts", "an engine that ends"),
  ReconcileRejectedAfterShutdown: source(
    "domain/steps/start.test.ts",
    "an engine that shuts down starts nothing",
  ),
  SourceRevisionChangePredicate: source("engine/triggers.test.ts", "what wakes those"),
  ValidateTCPAddress: source("runner/health.test.ts", "a TCP address"),
  ObjectEncode: none("a run gets an order, not the object"),
  GetRunnerPodObjectKey: pod("the pod's name"),
};

/** Of runner/, api/, internal/ and tfctl/. */
export const others: Readonly<Record<string, Held>> = {
  "ErrorHandling, Metadata": source("protocol/tofu-json.test.ts", "a lock in the way"),
  EmptyInstanceID: source("runner/server.test.ts", "%s is refused, and leaves no trace"),
  MismatchInstanceIDs: source("protocol/client.test.ts", "another run than expected is refused"),
  "LoadTFPlan, force true": source("domain/modes.test.ts", "force asks nobody"),
  "LoadTFPlan, force false": source("engine/plans.test.ts", "a piece that is missing or changed"),
  AppendPlanSpecOptions: source("runner/arguments.test.ts", "a plan"),
  SanitizeLog: source("protocol/masking.test.ts", "a secret is masked"),
  SaveTFPlanWithMultipleChunks: source("engine/plans.test.ts", "a plan that does not shrink"),
  ParseRenamePattern: source("engine/inputs.test.ts", "varsKeys"),
  ReadInputs: source("engine/inputs.test.ts", "lists and maps come whole"),
  PrintHumanReadablePlan: real("runner.test.ts", "a plan's JSON is kept"),
  CreateWorkspaceBlob: none("upstream's controller never calls it"),
  "plan: names, chunks, hashes": source("engine/plans.test.ts", "a small plan is one Secret"),
  "plan: long workspaces": source("engine/plans.test.ts", "a plan is kept whatever"),
  planid: source("domain/plan-id.test.ts", "%s"),
  RetryInterval: source("domain/retries.test.ts", "the pause after failures in a row"),
  CloudSpec: refused("spec.cloud"),
  TrimString: source("domain/summarize.test.ts", "messages are cut at 20,000"),
  "utils: environment": source("engine/inputs.test.ts", "environment"),
  "utils: quota": pod("the quota of pods"),
  "polling.Server": none("plans of pull requests"),
  "poll_empty, reconcile_objects, noPathChanges": none("plans of pull requests"),
  informer: none("plans of pull requests"),
  "config, naming": none("plans of pull requests"),
  provider: none("plans of pull requests"),
  "tfctl ShowPlan": source("cli/program.test.ts", "plan show"),
  "tfctl LogRequest": source("cli/program.test.ts", "a log line"),
};

/** Numbers of upstream's files, so that none is silently missing above. */
export const upstreamNumbers: readonly string[] = [
  "000010 000011 000012 000013 000014 000015 000016 000020 000030 000031 000040 000041 000042",
  "000043 000044 000050 000051 000052 000053 000054 000060 000061 000062 000063 000064 000070",
  "000071 000072 000073 000074 000075 000080 000081 000082 000090 000100 000110 000111 000120",
  "000121 000130 000131 000140 000150 000160 000170 000180 000190 000191 000200 000201 000210",
  "000220 000230 000240 000241 000242 000243 000260 000280 000281 000290 000300 000310 000311",
  "000320 000330 000340 000350 000360 000361 000362 009990",
].flatMap((line) => line.split(" "));
