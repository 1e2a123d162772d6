import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { stateLockOrphanedCases } from "./state-lock-orphaned.cases.ts";
import { stateLockOrphaned } from "./state-lock-orphaned.ts";

checkRecognizer(stateLockOrphaned, stateLockOrphanedCases);
