import { stateDoorContract } from "../../testing/contracts/state-door.ts";
import { httpDoor } from "../../testing/fakes/state-doors.ts";

stateDoorContract(async () => httpDoor());
