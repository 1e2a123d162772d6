import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { suspendedCases } from "./suspended.cases.ts";
import { suspended } from "./suspended.ts";

checkRecognizer(suspended, suspendedCases);
