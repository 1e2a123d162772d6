import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { nodeLostCases } from "./lost.cases.ts";
import { nodeLost } from "./lost.ts";

checkRecognizer(nodeLost, nodeLostCases);
