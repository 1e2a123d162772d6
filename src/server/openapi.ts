import type { TSchema } from "typebox";
import { kindNames } from "../api/kinds.ts";
import { type Operation, operations } from "./operations.ts";
import { HealthSchema, METRICS_TYPE, probePaths } from "./probes.ts";
import { ErrorSchema, namedSchemas, ObjectSchema } from "./schemas.ts";

/** The interface as an OpenAPI 3.1 document: JSON, made of the tables alone. */
export function openApi(): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const [id, operation] of Object.entries(operations) as [string, Operation][]) {
    const path = paths[operation.path] ?? {};
    paths[operation.path] = path;
    path[operation.method.toLowerCase()] = operationOf(id, operation);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Nigari",
      version: "1",
      description:
        "The HTTP interface of the engine that `nigari up` runs: on a Unix socket for its user, " +
        "and, if it is asked to listen, on a TCP port of this machine with a bearer token. " +
        "Fields may be added to answers; nothing that is here changes or goes within /v1.",
    },
    security: [{}, { token: [] }],
    paths: { ...probes(), ...paths },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: components(),
    },
  };
}

function probes(): { [path: string]: Json } {
  const health = contentOf(HealthSchema);
  const contents: Readonly<Record<keyof typeof probePaths, Json>> = {
    "/healthz": health,
    "/readyz": health,
    "/metrics": { [METRICS_TYPE]: { schema: { type: "string" } } },
  };
  const pathOf = ([path, content]: [string, Json]): [string, Json] => {
    const summary = probePaths[path as keyof typeof probePaths];
    const bad = path === "/metrics" ? {} : { 503: { description: "It is not.", content } };
    const responses = { 200: { description: "It is well.", content }, ...bad };
    return [path, { get: { operationId: path.slice(1), summary, parameters: [], responses } }];
  };
  return Object.fromEntries(Object.entries(contents).map(pathOf));
}

export type Json = string | number | boolean | null | readonly Json[] | { [name: string]: Json };

const COMMON = [400, 401, 403, 500, 503];

const MEANING: Readonly<Record<number, string>> = {
  400: "The request is not understood; the message names the field.",
  401: "No token, or a wrong one. Only over TCP.",
  403: "Not allowed; over TCP, also a foreign Host.",
  404: "There is no such object.",
  409: "It has moved on since it was read, or a rule forbids it.",
  410: "No longer kept; list again.",
  413: "The body is too large.",
  422: "The object is not valid; the message names the field.",
  500: "The engine failed; its log says why.",
  503: "Not now, or not in time; it may be asked again.",
};

function operationOf(operationId: string, operation: Operation): Json {
  const { summary, description, body, answer, refusals } = operation;
  const refused = [...COMMON, ...refusals].sort((a, b) => a - b);
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    parameters: [...parameters("path", operation.params), ...parameters("query", operation.query)],
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      ...answers(answer),
      ...Object.fromEntries(
        refused.map((status): [string, Json] => [
          String(status),
          { description: MEANING[status] ?? "", content: contentOf(ErrorSchema) },
        ]),
      ),
    },
  };
}

interface Fields {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

function parameters(place: "path" | "query", schema: TSchema): Json[] {
  const { properties = {}, required = [] } = schema as Fields;
  return Object.entries(properties).map(([name, field]) => {
    const { description, ...rest } = plain(field) as { [name: string]: Json };
    return {
      name,
      in: place,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

function contentOf(body: TSchema | "bytes"): Json {
  if (body === "bytes") return { "application/octet-stream": {} };
  return { "application/json": { schema: refer(body) } };
}

function answers(answer: Operation["answer"]): { [status: string]: Json } {
  switch (answer.is) {
    case "json": {
      const content = contentOf(answer.schema);
      return { [answer.status]: { description: "Done.", content } };
    }
    case "bytes":
      return {
        200: { description: answer.describes, content: contentOf("bytes") },
        204: { description: "There is nothing." },
      };
    case "events": {
      const schema = refer(answer.schema);
      const description =
        `Server-sent events "${answer.event}", each with JSON of this schema as its data; the ` +
        `last one of a stream that failed is "error", with an Error.`;
      return { 200: { description, content: { "text/event-stream": { schema } } } };
    }
  }
}

function components(): { [name: string]: Json } {
  const schemas = [...namedSchemas].map(([schema, name]): [string, Json] => {
    if (schema !== ObjectSchema) return [name, inner(schema)];
    const oneOf = kindNames.map((kind) => ({ $ref: `#/components/schemas/${kind}` }));
    return [name, { oneOf, discriminator: { propertyName: "kind" } }];
  });
  return Object.fromEntries(schemas.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A schema by its name, if it has one. */
function refer(schema: object): Json {
  const name = namedSchemas.get(schema);
  return name === undefined ? inner(schema) : { $ref: `#/components/schemas/${name}` };
}

function inner(schema: object): Json {
  const entries = Object.entries(schema).map(([key, value]): [string, Json] => [key, part(value)]);
  return Object.fromEntries(entries);
}

function part(value: unknown): Json {
  if (Array.isArray(value)) return value.map(part);
  if (typeof value === "object" && value !== null) return refer(value);
  return value as Json;
}

function plain(schema: TSchema): Json {
  return JSON.parse(JSON.stringify(schema)) as Json;
}
