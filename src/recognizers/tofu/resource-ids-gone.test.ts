import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { resourceIdsGoneCases } from "./resource-ids-gone.cases.ts";
import { resourceIdsGone } from "./resource-ids-gone.ts";

checkRecognizer(resourceIdsGone, resourceIdsGoneCases);
