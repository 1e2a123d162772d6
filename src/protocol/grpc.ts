import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { GenService } from "@bufbuild/protobuf/codegenv2";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import { Runner } from "./generated/runner_pb.ts";

// Between the two libraries: protobuf-es describes the service, grpc-js carries it.

/** What a method of grpc-js needs to know, made from the description of the same method. */
export type MethodOf<M> = M extends { input: infer I; output: infer O }
  ? I extends DescMessage
    ? O extends DescMessage
      ? MethodDefinition<MessageShape<I>, MessageShape<O>>
      : never
    : never
  : never;

type Methods<S> = S extends GenService<infer M> ? { [K in keyof M]: MethodOf<M[K]> } : never;

/** Every method of the runner's service, by the name it has in `Runner.method`. */
export const runnerMethods = Object.fromEntries(
  Runner.methods.map((method) => [method.localName, methodDefinition(method)]),
) as Methods<typeof Runner>;

/** The same for `Server.addService`, which looks handlers up by these names. */
export const runnerService: ServiceDefinition = runnerMethods;

function methodDefinition(method: DescMethod): MethodDefinition<object, object> {
  const { input, output } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: ["client_streaming", "bidi_streaming"].includes(method.methodKind),
    responseStream: ["server_streaming", "bidi_streaming"].includes(method.methodKind),
    requestSerialize: writer(input),
    requestDeserialize: reader(input),
    responseSerialize: writer(output),
    responseDeserialize: reader(output),
  };
}

/** Also takes a bare object with the message's fields. */
function writer(schema: DescMessage) {
  return (value: object) => {
    const message = create(schema, value as MessageInitShape<DescMessage>);
    return Buffer.from(toBinary(schema, message));
  };
}

function reader(schema: DescMessage) {
  return (bytes: Buffer): object => fromBinary(schema, bytes);
}

/** A socket's address as grpc-js takes it. */
export function socketAddress(path: string): string {
  return `unix:${path}`;
}
