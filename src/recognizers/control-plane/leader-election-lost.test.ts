import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { leaderElectionLostCases } from "./leader-election-lost.cases.ts";
import { leaderElectionLost } from "./leader-election-lost.ts";

checkRecognizer(leaderElectionLost, leaderElectionLostCases);
