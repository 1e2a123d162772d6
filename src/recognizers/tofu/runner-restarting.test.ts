import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { runnerRestartingCases } from "./runner-restarting.cases.ts";
import { runnerRestarting } from "./runner-restarting.ts";

checkRecognizer(runnerRestarting, runnerRestartingCases);
