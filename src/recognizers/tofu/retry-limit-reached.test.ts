import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { retryLimitReachedCases } from "./retry-limit-reached.cases.ts";
import { retryLimitReached } from "./retry-limit-reached.ts";

checkRecognizer(retryLimitReached, retryLimitReachedCases);
