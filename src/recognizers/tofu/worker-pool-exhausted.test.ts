import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { workerPoolExhaustedCases } from "./worker-pool-exhausted.cases.ts";
import { workerPoolExhausted } from "./worker-pool-exhausted.ts";

checkRecognizer(workerPoolExhausted, workerPoolExhaustedCases);
