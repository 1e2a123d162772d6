import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { sourceMovedOnUnseenCases } from "./source-moved-on-unseen.cases.ts";
import { sourceMovedOnUnseen } from "./source-moved-on-unseen.ts";

checkRecognizer(sourceMovedOnUnseen, sourceMovedOnUnseenCases);
