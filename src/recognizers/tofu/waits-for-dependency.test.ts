import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { waitsForDependencyCases } from "./waits-for-dependency.cases.ts";
import { waitsForDependency } from "./waits-for-dependency.ts";

checkRecognizer(waitsForDependency, waitsForDependencyCases);
