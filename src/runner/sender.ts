import type { ServerWritableStream } from "@grpc/grpc-js";

/** Writes a message, and waits where the other side is slow; no longer once it is gone. */
export function sender<Message>(call: ServerWritableStream<unknown, Message>) {
  return async (message: object): Promise<void> => {
    // The serializer completes a bare object.
    if (call.cancelled || call.write(message as Message)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        for (const event of ["drain", "cancelled", "close", "error"]) call.off(event, done);
        resolve();
      };
      for (const event of ["drain", "cancelled", "close", "error"]) call.on(event, done);
    });
  };
}
