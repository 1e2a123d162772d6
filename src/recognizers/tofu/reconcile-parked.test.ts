import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { reconcileParkedCases } from "./reconcile-parked.cases.ts";
import { reconcileParked } from "./reconcile-parked.ts";

checkRecognizer(reconcileParked, reconcileParkedCases);
