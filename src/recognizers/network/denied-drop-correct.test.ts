import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { deniedDropCorrectCases } from "./denied-drop-correct.cases.ts";
import { deniedDropCorrect } from "./denied-drop-correct.ts";

checkRecognizer(deniedDropCorrect, deniedDropCorrectCases);
