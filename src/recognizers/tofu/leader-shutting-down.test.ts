import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { leaderShuttingDownCases } from "./leader-shutting-down.cases.ts";
import { leaderShuttingDown } from "./leader-shutting-down.ts";

checkRecognizer(leaderShuttingDown, leaderShuttingDownCases);
