import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { reconcilingStaleCases } from "./reconciling-stale.cases.ts";
import { reconcilingStale } from "./reconciling-stale.ts";

checkRecognizer(reconcilingStale, reconcilingStaleCases);
