import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { runnerTlsSecretOutOfStepCases } from "./runner-tls-secret-out-of-step.cases.ts";
import { runnerTlsSecretOutOfStep } from "./runner-tls-secret-out-of-step.ts";

checkRecognizer(runnerTlsSecretOutOfStep, runnerTlsSecretOutOfStepCases);
