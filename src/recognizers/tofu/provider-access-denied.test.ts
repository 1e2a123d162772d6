import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { providerAccessDeniedCases } from "./provider-access-denied.cases.ts";
import { providerAccessDenied } from "./provider-access-denied.ts";

checkRecognizer(providerAccessDenied, providerAccessDeniedCases);
