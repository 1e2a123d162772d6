import { expect, test } from "vitest";
import { readHubbleDrop, readMonitorDrop } from "./drop-text.ts";

const place = { origin: "x", line: 1 };

test("a drop of the monitor names ends, port, reason and door", () => {
  const line =
    "xx drop (Policy denied) flow 0x41a3f to endpoint 2377, ifindex 12, file bpf_lxc.c:2035, , " +
    "identity 33414->9761: 10.0.1.9:41516 -> 10.0.2.7:9090 tcp SYN";
  expect(readMonitorDrop(line, place)).toMatchObject({
    ...{ reason: "Policy denied", port: 9090, protocol: "tcp", direction: "ingress" },
    source: { ip: "10.0.1.9", identity: 33414 },
    destination: { ip: "10.0.2.7", identity: 9761 },
  });
});

test("one at the sender's door, with a reserved identity and IPv6", () => {
  const line =
    "2026-03-02T10:00:00Z xx drop (Policy denied) flow 0x0 to endpoint 0, ifindex 9, " +
    "file bpf_lxc.c:1343, , identity 2100->world: [fd00::5]:4000 -> [fd00::7]:9090 tcp SYN";
  expect(readMonitorDrop(line, place)).toMatchObject({
    ...{ atMs: Date.parse("2026-03-02T10:00:00Z"), direction: "egress", port: 9090 },
    destination: { ip: "fd00::7", identity: 2 },
  });
});

test("what is no drop is none", () => {
  expect(readMonitorDrop("-> endpoint 12 flow 0x0 identity 1->2", place)).toBeUndefined();
  expect(readHubbleDrop({ flow: { verdict: "FORWARDED" } }, place)).toBeUndefined();
  expect(readHubbleDrop("text", place)).toBeUndefined();
});

test("a drop of Hubble names pods and labels", () => {
  const flow = {
    ...{ time: "2026-03-02T10:00:00Z", verdict: "DROPPED", drop_reason_desc: "POLICY_DENIED" },
    ...{ traffic_direction: "INGRESS", IP: { source: "10.0.1.9", destination: "10.0.2.7" } },
    l4: { TCP: { source_port: 1, destination_port: 9090 } },
    source: { identity: 5, namespace: "apps", pod_name: "chat", labels: ["k8s:app=chat"] },
    destination: { identity: 6, namespace: "ops", pod_name: "source" },
  };
  expect(readHubbleDrop({ flow }, place)).toMatchObject({
    ...{ reason: "policy denied", port: 9090, protocol: "tcp", direction: "ingress" },
    source: { pod: "chat", namespace: "apps", labels: { app: "chat" } },
  });
});
