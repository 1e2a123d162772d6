import type { LogLine, Place } from "./model.ts";
import type { PassesView } from "./passes.ts";
import type { TerraformView } from "./terraforms.ts";

/** What a provider said no to in an object's newest pass. */
export interface ProviderRefusal {
  readonly object: TerraformView;
  readonly text: string;
  /** From the resource addresses in the text, such as `keycloak`. */
  readonly providers: readonly string[];
  /** Ids that the text says do not exist. */
  readonly goneIds: readonly string[];
  readonly accessDenied: boolean;
  readonly line: LogLine | undefined;
  readonly place: Place;
}

const TEXT_CHARACTERS = 20_000;

const GONE = [
  /(?:not found|does not exist|no such \w+)[^\n]{0,60}?\bid:? ?"?([\w.:/-]{1,80})"?/gi,
  /\bid:? ?"?([\w.:/-]{1,80})"?[^\n]{0,60}?(?:not found|does not exist|could not be found)/gi,
];
const DENIED =
  /\b40[13]\b|\bforbidden\b|unauthori[sz]ed|permission denied|access ?denied|invalid credentials/i;
const READ = /unable to (?:read|find|get|list)|error (?:reading|retrieving|getting)/i;

/** Objects that fail now because a provider could not read what the state names. */
export function providerRefusals(
  terraforms: readonly TerraformView[],
  passes: PassesView | undefined,
): ProviderRefusal[] {
  return terraforms.flatMap((object) => {
    if (object.ready?.status !== "False" || object.suspended) return [];
    const line = passes?.byObject.get(object.key)?.error;
    const text = `${object.ready.message}\n${line?.error ?? ""}`.slice(0, TEXT_CHARACTERS);
    if (!READ.test(text)) return [];
    const place = object.place;
    return [
      {
        ...{ object, text, line, place },
        providers: providersIn(text),
        goneIds: goneIdsIn(text),
        accessDenied: DENIED.test(text),
      },
    ];
  });
}

function goneIdsIn(text: string): string[] {
  const ids = GONE.flatMap((pattern) => [...text.matchAll(pattern)].map((found) => found[1] ?? ""));
  return [...new Set(ids.map((id) => id.replace(/[.:,]+$/, "")).filter((id) => id !== ""))].sort();
}

/** `with keycloak_user.anna,` and `data.aws_vpc.main` name a provider before the first `_`. */
function providersIn(text: string): string[] {
  const found = [
    ...text.matchAll(/\bwith (?:module\.[\w.[\]"-]+\.)?(?:data\.)?([a-z0-9]+)_\w+\./g),
  ];
  return [...new Set(found.map((each) => each[1] ?? ""))].sort();
}
