import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { stateLockHeldCases } from "./state-lock-held.cases.ts";
import { stateLockHeld } from "./state-lock-held.ts";

checkRecognizer(stateLockHeld, stateLockHeldCases);
