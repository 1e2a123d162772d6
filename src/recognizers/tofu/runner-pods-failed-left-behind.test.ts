import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { runnerPodsFailedLeftBehindCases } from "./runner-pods-failed-left-behind.cases.ts";
import { runnerPodsFailedLeftBehind } from "./runner-pods-failed-left-behind.ts";

checkRecognizer(runnerPodsFailedLeftBehind, runnerPodsFailedLeftBehindCases);
