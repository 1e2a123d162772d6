import { ACCEPT, END_RUN, REQUESTED_AT } from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import { isStoreError } from "../../ports/object-store.ts";
import { secretOf } from "./objects.ts";
import { type Act, INPUT, SOURCE } from "./scenario.ts";
import type { World } from "./world.ts";

/** The people of a world: what they change, what they approve, and what they do when asked. */
export class People {
  readonly #world: World;
  readonly #tell: (line: string) => void;
  #count = 0;

  constructor(world: World, tell: (line: string) => void) {
    this.#world = world;
    this.#tell = tell;
  }

  async act({ do: what, name }: Act): Promise<void> {
    this.#count += 1;
    this.#tell(`${name}: a person does "${what}"`);
    const count = this.#count;
    switch (what) {
      case "commit":
        return await this.#world.source(SOURCE, `base step-${count} more-${count}`);
      case "edit":
        return await this.#edit(name, ({ spec }) => {
          spec.vars = [{ name: "size", value: count }];
        });
      case "request":
        return await this.request(name, `request-${count}`);
      case "suspend":
      case "resume":
        return await this.#edit(name, ({ spec }) => {
          spec.suspend = what === "suspend";
        });
      case "secret":
        await this.#world.apply(secretOf(INPUT, { word: `word-${count}` }));
        return;
      case "delete":
        return await this.#world.remove("Terraform", name);
    }
  }

  async request(name: string, value: string): Promise<void> {
    await this.#edit(name, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, [REQUESTED_AT]: value };
    });
  }

  /** Does what the objects ask a person for, as their messages say. */
  async answer(terraform: Terraform): Promise<void> {
    const { name } = terraform.metadata;
    const { status } = terraform;
    const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    if (stalled?.status === "True") return await this.#cure(terraform, stalled.message);
    const asked = /set approvePlan: "([^"]+)"/.exec(ready?.message ?? "")?.[1];
    if (asked === undefined || asked !== status?.plan?.pending) return;
    if (terraform.spec.approvePlan === asked) return;
    this.#tell(`${name}: a person approves ${asked}`);
    await this.#edit(name, ({ spec }) => {
      spec.approvePlan = asked;
    });
  }

  async #cure(terraform: Terraform, message: string): Promise<void> {
    const { name, annotations = {} } = terraform.metadata;
    const [, key = "", value = ""] =
      /annotat\w+(?: the object with)? ([\w./-]+)=(\S+)/.exec(message) ?? [];
    if (key === ACCEPT) this.#import(name);
    if (key === ACCEPT || key === END_RUN) {
      if (annotations[key] === value) return;
      this.#tell(`${name}: a person looks, and annotates ${key}=${value}`);
      await this.#edit(name, ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, [key]: value };
      });
    }
  }

  /** What exists and is not in the state comes into it; what is gone leaves it. */
  #import(name: string): void {
    const { effects, recorded } = this.#world.platform.world;
    const object = `default/${name}`;
    const state = recorded.get(object) ?? new Set();
    recorded.set(object, state);
    for (const effect of effects) {
      if (effect.object !== object) continue;
      if (effect.action === "create") state.add(effect.resource);
      else state.delete(effect.resource);
    }
  }

  /** People see what there is, and try again when somebody else was faster. */
  async #edit(name: string, change: (terraform: Terraform) => void): Promise<void> {
    for (;;) {
      if ((await this.#world.get("Terraform", name)) === undefined) return;
      try {
        return await this.#world.edit(name, change);
      } catch (error) {
        if (!isStoreError(error, "Conflict")) throw error;
      }
    }
  }
}
