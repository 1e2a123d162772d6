import {
  InterceptingCall,
  type Interceptor,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from "@grpc/grpc-js";
import { isEpochCurrent } from "../domain/guards.ts";

/**
 * Every call to a runner bears the epoch of the engine that makes it. A runner obeys the newest it
 * has met: whoever led before and does not know yet that he leads no longer is refused.
 */
const HEADER = "nigari-epoch";

/** Whether a refusal says so: the runner obeys somebody newer. */
export function saysSuperseded(details: string): boolean {
  return /^Epoch \d+ is over: /.test(details);
}

/** For a client: puts the epoch on each call. */
export function bearing(epoch: number): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        metadata.set(HEADER, String(epoch));
        next(metadata, listener);
      },
    });
}

/** For a server: refuses calls of an older epoch. A call that bears none is let through. */
export function refusingOlder(first: number): ServerInterceptor {
  let newest = first;
  return (_method, call) => {
    const listener = new ServerListenerBuilder().withOnReceiveMetadata((metadata, next) => {
      const [said] = metadata.get(HEADER);
      const epoch = said === undefined ? newest : Number(said);
      if (isEpochCurrent(epoch, newest)) {
        newest = Math.max(newest, epoch);
        next(metadata);
        return;
      }
      const details = `Epoch ${epoch} is over: an engine of epoch ${newest} has this run`;
      call.sendStatus({ code: status.FAILED_PRECONDITION, details, metadata: null });
    });
    const responder = new ResponderBuilder().withStart((next) => next(listener.build()));
    return new ServerInterceptingCall(call, responder.build());
  };
}
