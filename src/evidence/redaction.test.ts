import { describe, expect, test } from "vitest";
import { LineRedactor, REDACTED, redactObject, redactText } from "./redaction.ts";

describe("text", () => {
  const gone: Record<string, string> = {
    "user info of a URL": "clone https://ci:hunter2@git.example.com/infra.git failed",
    "a token in a query": "GET https://s3.example.com/state?x=1&X-Amz-Signature=hunter2&y=2",
    "a header": "Authorization: token hunter2 more",
    "a bearer token": "sent Bearer hunter2hunter2",
    "a JWT": "got eyJhbGciOi.hunter2hunter2.sig for it",
    "a GitHub token": "using ghp_hunter2hunter2hunter2hunter2",
    "an assignment": "DB_PASSWORD=hunter2 tofu plan",
    "a quoted assignment": 'password: "hunter2 and more"',
    "JSON in text": 'body {"client_secret":"hunter2"}',
    "a line of a plan": '  + connection = "hunter2"',
    "a changed line of a plan": '  ~ connection = "a" -> "hunter2"',
    "a source line that an error quotes": '│   12:   url = "hunter2"',
  };
  test.each(Object.entries(gone))("loses %s", (_, text) => {
    const shown = redactText(text);
    expect(shown).not.toContain("hunter2");
    expect(shown).toContain(REDACTED);
    expect(redactText(shown)).toBe(shown);
  });

  const kept: Record<string, string> = {
    "names of Secrets": 'secrets "terraform-runner.tls-1767225600" not found',
    revisions: "Applied successfully: main@sha1:b1a0f13a3c4d3f8afd7ef13e0f39a39de662b02f",
    "ids of things that are gone": "Error: Unable to read Zone, not found with id 4711",
    "a dial": 'Get "http://source-controller.flux-system.svc/x.tar.gz": dial tcp 10.0.0.1:80',
    "plan ids": 'Plan generated: set approvePlan: "plan-main-b1a0f13a3c" to approve this plan.',
    "counts of a plan": "Plan: 1 to add, 2 to change, 0 to destroy.",
    klog: 'E1130 10:17:39.1 1 leaderelection.go:340] "Error retrieving lock" lock="a/b" err="x"',
    "a session": "terraform session error: instance id is empty, expected 'ee07e69f'",
  };
  test.each(Object.entries(kept))("keeps %s", (_, text) => {
    expect(redactText(text)).toBe(text);
  });

  test("keeps the lock's own block", () => {
    const text = [
      "error acquiring the state lock: Lock Info:",
      "  ID:        e5074eca-3ca0-dd9f-5ecd-47b198b3aee6",
      "  Path:      ",
      "  Operation: OperationTypeApply",
      "  Who:       runner@vpc-core-tf-runner",
      "  Created:   2026-11-30 10:29:49.42850539 +0000 UTC",
    ].join("\n");
    expect(redactText(text)).toBe(text);
  });

  test("of a plan leaves only that there was one, and what came before and after", () => {
    const text = [
      "Planned.",
      "OpenTofu will perform the following actions:",
      "  # random_password.db will be created",
      '  + resource "random_password" "db" {',
      "      + text = <<-EOT",
      "            hunter2",
      "        EOT",
      "    }",
      "Plan: 1 to add, 0 to change, 0 to destroy.",
      "Changes to Outputs:",
      '  + url = "hunter2"',
      "╷",
      "│ Error: Unable to read Zone",
    ].join("\n");
    expect(redactText(text)).toBe(
      [
        "Planned.",
        "[plan redacted]",
        "Plan: 1 to add, 0 to change, 0 to destroy.",
        "[plan redacted]",
        "│ Error: Unable to read Zone",
      ].join("\n"),
    );
  });

  test("of a key leaves nothing", () => {
    const text = "a\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\nb";
    expect(redactText(text)).toBe(`a\n${REDACTED}\nb`);
  });

  test("that is hostile takes no time", () => {
    const hostile = [
      "a".repeat(1 << 20),
      "token ".repeat(200_000),
      "x@".repeat(500_000),
      "-b".repeat(500_000),
    ];
    for (const text of hostile) {
      const from = performance.now();
      redactText(text);
      expect(performance.now() - from).toBeLessThan(3_000);
    }
  });
});

describe("an object", () => {
  test("keeps what recognizers read and loses what people put in", () => {
    const shown = redactObject({
      apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
      kind: "Terraform",
      metadata: {
        name: "db",
        managedFields: [{ manager: "hunter2" }],
        annotations: {
          "kubectl.kubernetes.io/last-applied-configuration": "hunter2",
          "reconcile.fluxcd.io/requestedAt": "2026-11-30T10:00:00Z",
          "example.com/note": "hunter2",
        },
      },
      spec: {
        interval: "5m0s",
        vars: [
          { name: "password", value: "hunter2" },
          { name: "n", valueFrom: { secretKeyRef: {} } },
        ],
        values: { deep: ["hunter2"] },
        backendConfig: { secretSuffix: "db", customConfiguration: 'token = "hunter2"' },
        runnerPodTemplate: { spec: { env: [{ name: "T", value: "hunter2" }] } },
        webhooks: [{ url: "https://u:hunter2@example.com" }],
        sourceRef: { kind: "GitRepository", name: "infra" },
      },
      status: { conditions: [{ type: "Ready", message: '  + a = "hunter2"\n  ~ b = "hunter2"' }] },
    });
    expect(JSON.stringify(shown)).not.toContain("hunter2");
    expect(shown).toMatchObject({
      metadata: {
        name: "db",
        annotations: {
          "reconcile.fluxcd.io/requestedAt": "2026-11-30T10:00:00Z",
          "example.com/note": REDACTED,
        },
      },
      spec: {
        interval: "5m0s",
        vars: [{ name: "password", value: REDACTED }, { name: "n" }],
        backendConfig: { secretSuffix: "db" },
        sourceRef: { name: "infra" },
      },
    });
    expect(Object.keys((shown.metadata as { annotations: object }).annotations)).toHaveLength(2);
  });

  test("of a pod keeps its flags but not their secrets", () => {
    const args = ["--concurrent=8", "--api-token=hunter2", "--password", "hunter2", "--v", "2"];
    const shown = redactObject({ kind: "Pod", metadata: { name: "p" }, spec: { args } });
    expect(shown.spec).toEqual({
      args: ["--concurrent=8", `--api-token=${REDACTED}`, "--password", REDACTED, "--v", "2"],
    });
  });

  test("that is a Secret or ConfigMap keeps its name and labels alone", () => {
    for (const kind of ["Secret", "ConfigMap"]) {
      const shown = redactObject({
        ...{ apiVersion: "v1", kind, type: "Opaque", immutable: true },
        metadata: { name: "s", labels: { tfstate: "true" }, annotations: { a: "hunter2" } },
        data: { k: "hunter2" },
        stringData: { k: "hunter2" },
      });
      expect(shown).toEqual({
        ...{ apiVersion: "v1", kind },
        metadata: { name: "s", labels: { tfstate: "true" }, annotations: { a: REDACTED } },
      });
    }
  });
});

describe("a log", () => {
  const redact = (...lines: string[]) => {
    const redactor = new LineRedactor();
    return lines.flatMap((line) => redactor.log(line) ?? []);
  };

  test("of JSON stays JSON, and unchanged where there is nothing to hide", () => {
    const plain = '{"level":"info","ts":"2026-11-30T10:00:00Z","msg":"generated template"}';
    expect(redact(plain)).toEqual([plain]);
    const [shown = ""] = redact(
      '{"level":"error","msg":"plan:\\n  + a = \\"hunter2\\"","error":"https://u:hunter2@h/x",' +
        '"password":"hunter2","name":"db"}',
    );
    expect(shown).not.toContain("hunter2");
    expect(JSON.parse(shown)).toMatchObject({ level: "error", name: "db", password: REDACTED });
  });

  test("with times before its lines loses its plans all the same", () => {
    const time = "2026-11-30T10:00:00.123456789Z ";
    const shown = redact(
      `${time}Changes to Outputs:`,
      `${time}  hunter2`,
      `${time}{"level":"info","msg":"done"}`,
      `${time}  + a = "hunter2"`,
    );
    expect(shown).toEqual([
      `${time}[plan redacted]`,
      `${time}{"level":"info","msg":"done"}`,
      `${time}  + a = ${REDACTED}`,
    ]);
  });

  test("in console form is looked into behind its tabs", () => {
    const [shown] = redact('2026-11-30T10:00:00Z\tINFO\tset\t{"token": "hunter2", "name": "db"}');
    expect(shown).toBe(`2026-11-30T10:00:00Z\tINFO\tset\t{"token":"${REDACTED}","name":"db"}`);
  });
});
