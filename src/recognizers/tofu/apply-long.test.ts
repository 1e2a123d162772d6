import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { applyLongCases } from "./apply-long.cases.ts";
import { applyLong } from "./apply-long.ts";

checkRecognizer(applyLong, applyLongCases);
