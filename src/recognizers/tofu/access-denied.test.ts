import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { accessDeniedCases } from "./access-denied.cases.ts";
import { accessDenied } from "./access-denied.ts";

checkRecognizer(accessDenied, accessDeniedCases);
