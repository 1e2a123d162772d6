import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { controlPlaneUnsteadyCases } from "./unsteady.cases.ts";
import { controlPlaneUnsteady } from "./unsteady.ts";

checkRecognizer(controlPlaneUnsteady, controlPlaneUnsteadyCases);
