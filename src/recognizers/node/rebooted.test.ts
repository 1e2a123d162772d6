import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { nodeRebootedCases } from "./rebooted.cases.ts";
import { nodeRebooted } from "./rebooted.ts";

checkRecognizer(nodeRebooted, nodeRebootedCases);
