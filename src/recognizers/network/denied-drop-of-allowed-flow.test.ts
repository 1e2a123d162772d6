import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { deniedDropOfAllowedFlowCases } from "./denied-drop-of-allowed-flow.cases.ts";
import { deniedDropOfAllowedFlow } from "./denied-drop-of-allowed-flow.ts";

checkRecognizer(deniedDropOfAllowedFlow, deniedDropOfAllowedFlowCases);
