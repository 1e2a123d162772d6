import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { artifactFetchTransientCases } from "./artifact-fetch-transient.cases.ts";
import { artifactFetchTransient } from "./artifact-fetch-transient.ts";

checkRecognizer(artifactFetchTransient, artifactFetchTransientCases);
