import { checkRecognizer } from "../../testing/check-recognizer.ts";
import { awaitsApprovalCases } from "./awaits-approval.cases.ts";
import { awaitsApproval } from "./awaits-approval.ts";

checkRecognizer(awaitsApproval, awaitsApprovalCases);
