import {
  asText,
  functions,
  isTrue,
  TEXT_MAX,
  type TemplateFunction,
  TOO_LONG,
} from "./functions.ts";
import { type Node, type Operand, type Pipeline, TemplateError } from "./parse.ts";

/** A template of a person is not to keep a machine busy. */
const STEPS_MAX = 1_000_000;

/**
 * Fills data into a template, as Go's text/template does with maps. What the data has not is an
 * error where it would be printed: Go would print "<no value>". Fails with TemplateError.
 */
export function fill(nodes: readonly Node[], data: unknown): string {
  const filler = new Filler(data);
  filler.nodes(nodes, data);
  return filler.text;
}

/** The value itself of a template that is one action and nothing else; undefined for others. */
export function soleValue(nodes: readonly Node[], data: unknown): { value: unknown } | undefined {
  const [node] = nodes;
  if (nodes.length !== 1 || node?.is !== "action") return undefined;
  return { value: new Filler(data).value(node.pipeline, data) };
}

type Branch = Extract<Node, { readonly otherwise: readonly Node[] }>;

class Filler {
  text = "";
  #steps = 0;
  readonly #scopes: Map<string, unknown>[];

  constructor(root: unknown) {
    this.#scopes = [new Map([["", root]])];
  }

  nodes(nodes: readonly Node[], dot: unknown): void {
    for (const node of nodes) this.#node(node, dot);
  }

  #node(node: Node, dot: unknown): void {
    this.#step();
    if (node.is === "text") this.#write(node.text);
    else if (node.is === "action") this.#action(node.pipeline, dot);
    else if (node.is === "range") this.#range(node, dot);
    else {
      this.#scoped(() => {
        const value = this.value(node.pipeline, dot);
        if (isTrue(value)) this.nodes(node.body, node.is === "with" ? value : dot);
        else this.nodes(node.otherwise, dot);
      });
    }
  }

  #action(pipeline: Pipeline, dot: unknown): void {
    const value = this.value(pipeline, dot);
    if (pipeline.names.length > 0) return;
    if (value === undefined || value === null) {
      throw new TemplateError(`${shown(pipeline)} has no value`);
    }
    this.#write(asText(value));
  }

  #range(node: Branch, dot: unknown): void {
    const { names } = node.pipeline;
    const entries = entriesOf(this.#evaluate(node.pipeline, dot), shown(node.pipeline));
    if (entries.length === 0) this.#scoped(() => this.nodes(node.otherwise, dot));
    for (const [key, value] of entries) {
      this.#step();
      this.#scoped(() => {
        const taken = names.length > 1 ? [key, value] : [value];
        names.forEach((name, at) => {
          this.#set(name, taken[at], node.pipeline.declares);
        });
        this.nodes(node.body, value);
      });
    }
  }

  /** The value of a pipeline; its variables have it from now on. */
  value(pipeline: Pipeline, dot: unknown): unknown {
    const value = this.#evaluate(pipeline, dot);
    for (const name of pipeline.names) this.#set(name, value, pipeline.declares);
    return value;
  }

  #evaluate({ commands }: Pipeline, dot: unknown): unknown {
    let piped: unknown[] = [];
    for (const command of commands) piped = [this.#command(command, dot, piped)];
    return piped[0];
  }

  #command(command: readonly Operand[], dot: unknown, piped: unknown[]): unknown {
    const [first, ...others] = command;
    if (first?.is !== "function") {
      if (first === undefined || others.length > 0 || piped.length > 0) {
        throw new TemplateError("only a function takes arguments");
      }
      return this.#operand(first, dot);
    }
    const called = functionNamed(first.name);
    const args = others.map((each) => this.#operand(each, dot));
    return called(...args, ...piped);
  }

  #operand(operand: Operand, dot: unknown): unknown {
    this.#step();
    switch (operand.is) {
      case "literal":
        return operand.value;
      case "function":
        return functionNamed(operand.name)();
      case "dot":
        return fieldOf(dot, operand.path);
      case "variable":
        return fieldOf(this.#get(operand.name), operand.path);
      case "nested":
        return fieldOf(this.value(operand.pipeline, dot), operand.path);
    }
  }

  #get(name: string): unknown {
    const scope = this.#scopes.findLast((each) => each.has(name));
    if (scope === undefined) throw new TemplateError(`there is no variable "$${name}"`);
    return scope.get(name);
  }

  #set(name: string, value: unknown, declares: boolean): void {
    const scope = declares ? this.#scopes.at(-1) : this.#scopes.findLast((each) => each.has(name));
    if (scope === undefined) throw new TemplateError(`there is no variable "$${name}"`);
    scope.set(name, value);
  }

  #scoped(work: () => void): void {
    this.#scopes.push(new Map());
    work();
    this.#scopes.pop();
  }

  #write(text: string): void {
    this.text += text;
    if (this.text.length > TEXT_MAX) throw new TemplateError(TOO_LONG);
  }

  #step(): void {
    this.#steps += 1;
    if (this.#steps > STEPS_MAX) throw new TemplateError("it takes too many steps");
  }
}

function functionNamed(name: string): TemplateFunction {
  if (!Object.hasOwn(functions, name)) throw new TemplateError(`there is no function "${name}"`);
  return functions[name] as TemplateFunction;
}

/** What a map has not is undefined; to ask anything else for a field is an error. */
function fieldOf(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const [index, name] of path.entries()) {
    if (typeof at !== "object" || at === null || Array.isArray(at)) {
      const before = path.slice(0, index).join(".");
      throw new TemplateError(`".${before}" is no map, so it has no field "${name}"`);
    }
    at = Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined;
  }
  return at;
}

function entriesOf(value: unknown, what: string): [unknown, unknown][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((each, index) => [index, each]);
  if (typeof value === "object") {
    return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  }
  throw new TemplateError(`${what} is neither a list nor a map`);
}

/** As it is written, near enough for a person to find it. */
function shown({ commands }: Pipeline): string {
  const text = commands.map((command) => command.map(operandText).join(" ")).join(" | ");
  return `"${text}"`;
}

function operandText(operand: Operand): string {
  switch (operand.is) {
    case "literal":
      return JSON.stringify(operand.value);
    case "function":
      return operand.name;
    case "dot":
      return `.${operand.path.join(".")}`;
    case "variable":
      return [`$${operand.name}`, ...operand.path].join(".");
    case "nested":
      return ["(…)", ...operand.path].join(".");
  }
}
