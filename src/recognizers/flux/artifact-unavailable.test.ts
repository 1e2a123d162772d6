import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { artifactUnavailableCases } from "./artifact-unavailable.cases.ts";
import { artifactUnavailable } from "./artifact-unavailable.ts";

checkRecognizer(artifactUnavailable, artifactUnavailableCases);
