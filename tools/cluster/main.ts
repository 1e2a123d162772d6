// npm run cluster: etcd and the Kubernetes API server that test/real/doctor-cluster.test.ts asks,
// built once from the Go modules that tools/cluster/*/go.mod pin. About ten minutes on two cores.
import { apiServerProgram, etcdProgram } from "../../src/testing/cluster/programs.ts";
import { makePrograms } from "../opentofu/programs.ts";

await makePrograms("cluster", [etcdProgram, apiServerProgram]);
