import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { runnersOnOneNodeCases } from "./runners-on-one-node.cases.ts";
import { runnersOnOneNode } from "./runners-on-one-node.ts";

checkRecognizer(runnersOnOneNode, runnersOnOneNodeCases);
