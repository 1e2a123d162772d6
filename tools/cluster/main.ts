// npm run cluster: etcd, the Kubernetes API server and its controllers, for tests that ask a real
// one; built once from the Go modules that tools/cluster/*/go.mod pin. About ten minutes on two
// cores.
import {
  apiServerProgram,
  controllerManagerProgram,
  etcdProgram,
} from "../../src/testing/cluster/programs.ts";
import { makePrograms } from "../opentofu/programs.ts";

await makePrograms("cluster", [etcdProgram, apiServerProgram, controllerManagerProgram]);
