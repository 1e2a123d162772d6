import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { runnerNeverReadyCases } from "./runner-never-ready.cases.ts";
import { runnerNeverReady } from "./runner-never-ready.ts";

checkRecognizer(runnerNeverReady, runnerNeverReadyCases);
