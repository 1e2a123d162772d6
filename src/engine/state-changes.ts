import type { ObjectKey } from "../api/kinds.ts";
import type { StateAdmin, StateId } from "../ports/state.ts";

/**
 * States as a person changes them, who is told of at once: an object whose state is another one now
 * must not look healthy until its interval is over.
 */
export function tellingOfChanges(
  states: StateAdmin,
  changed: (key: ObjectKey) => void,
): StateAdmin {
  const told = async <T>({ namespace, name }: StateId, change: Promise<T>): Promise<T> => {
    const after = await change;
    changed({ namespace, name });
    return after;
  };
  return {
    list: (call) => states.list(call),
    show: (state, version, call) => states.show(state, version, call),
    versions: (state, call) => states.versions(state, call),
    push: (state, push, call) => told(state, states.push(state, push, call)),
    rollback: (state, to, call) => told(state, states.rollback(state, to, call)),
    drop: (state, id, call) => told(state, states.drop(state, id, call)),
  };
}
