import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { requeueLostCases } from "./requeue-lost.cases.ts";
import { requeueLost } from "./requeue-lost.ts";

checkRecognizer(requeueLost, requeueLostCases);
