import { describe, expect, test } from "vitest";
import { fill, soleValue } from "./fill.ts";
import { parseTemplate } from "./parse.ts";

const GO = { open: "{{", close: "}}" };
const data = {
  name: "web",
  count: 3,
  zero: 0,
  secret: 4711000,
  list: ["a", "b"],
  map: { y: 2, x: 1 },
  nested: { list: [{ n: 1 }, { n: 2 }], "with-dash": "dashed" },
};
const filled = (text: string) => fill(parseTemplate(text, GO), data);

const cases: readonly (readonly [string, string])[] = [
  ["plain", "plain"],
  ["a {{ .name }} b", "a web b"],
  ["{{ $.nested.list }}", "[map[n:1] map[n:2]]"],
  ["{{ .count }} {{ 1.5 }} {{ true }}", "3 1.5 true"],
  ["{{ .map }} {{ .list }}", "map[x:1 y:2] [a b]"],
  ['{{ index .nested "with-dash" }}', "dashed"],
  ["{{ index .list 1 }}", "b"],
  ["{{ (index .nested.list 1).n }}", "2"],
  ["{{ .name | upper | printf `%s-x` }}", "WEB-x"],
  [
    '{{ printf "%s %q %v %05d %.2f %-4s|%%" .name .name .list 42 1.005 "l" }}',
    'web "web" [a b] 00042 1.00 l   |%',
  ],
  ["x {{- .name -}} y", "xweby"],
  ["{{/* says nothing */}}x", "x"],
  ['{{ "}}" }}', "}}"],
  ["{{ if .zero }}a{{ else if .missing }}b{{ else }}c{{ end }}", "c"],
  ["{{ if and .name (gt .count 2) }}yes{{ end }}", "yes"],
  ["{{ if or .missing (eq .name `db` `web`) }}yes{{ end }}", "yes"],
  ["{{ with .map }}{{ .x }}{{ $.name }}{{ end }}", "1web"],
  ["{{ with .missing }}a{{ else }}b{{ end }}", "b"],
  ["{{ range .list }}<{{ . }}>{{ end }}", "<a><b>"],
  ["{{ range $i, $e := .list }}{{ $i }}={{ $e }};{{ end }}", "0=a;1=b;"],
  ["{{ range $k, $v := .map }}{{ $k }}={{ $v }};{{ end }}", "x=1;y=2;"],
  ["{{ range .missing }}a{{ else }}none{{ end }}", "none"],
  ["{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"],
  ["{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", "1"],
  ["{{ .missing | default `other` }}", "other"],
  ["{{ toJson .map }}", '{"y":2,"x":1}'],
  ["{{ .list | join `,` | quote }}", '"a,b"'],
  ["{{ .name | b64enc | b64dec }}", "web"],
  ["a:{{ nindent 2 `b\nc` }}", "a:\n  b\n  c"],
  ["{{ add 1 2 }} {{ sub 5 3 }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod 7 2 }}", "3 2 6 3 1"],
  ["{{ range until 3 }}{{ . }}{{ end }}", "012"],
  ["{{ len .list }} {{ len .map }} {{ len .name }}", "2 2 3"],
  ['{{ dict "a" 1 | toJson }} {{ list 1 2 | toJson }}', '{"a":1} [1,2]'],
  ["{{ not true }} {{ ne 1 2 }} {{ hasKey .map `x` }} {{ has `a` .list }}", "false true true true"],
];

test.each(cases)("%j", (text, expected) => {
  expect(filled(text)).toBe(expected);
});

const wrong: readonly (readonly [string, string])[] = [
  ["{{ .missing }}", '".missing" has no value'],
  ["{{ .missing.more }}", '".missing" is no map, so it has no field "more"'],
  ["{{ .name.more }}", '".name" is no map, so it has no field "more"'],
  ["{{ .constructor }}", '".constructor" has no value'],
  ["{{ nonsense 1 }}", 'there is no function "nonsense"'],
  ["{{ constructor }}", 'there is no function "constructor"'],
  ["{{ $y }}", 'there is no variable "$y"'],
  ["{{ .name", '"{{" has no "}}"'],
  ["{{ if .name }}", '"if" has no "end"'],
  ["{{ if .name }}{{ else }}", '"else" of "if" has no "end"'],
  ["{{ end }}", '"end" ends nothing'],
  ["{{ template `x` }}", '"template" is not known here'],
  ["{{ .name .list }}", "only a function takes arguments"],
  ["{{ index .list 5 }}", "an index lies outside of a list"],
  ["{{ trunc .secret .name }}", "a number is below 0 or above 100000"],
  ["{{ ( }}", '"(" is not understood'],
  ["{{ # }}", '"#" in "#" is not understood'],
  [
    "{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}",
    "it takes too many steps",
  ],
  ["{{ repeat 100000 (repeat 100000 `x`) }}", "the text grows without bounds"],
  ["{{ div 1 0 }}", "a division by zero"],
];

describe("wrong is", () => {
  test.each(wrong)("%j", (text, says) => {
    expect(() => filled(text)).toThrow(says);
  });
});

test("what is wrong with a secret number is said without it", () => {
  for (const text of ["{{ index .list .secret }}", "{{ repeat .secret .name }}"]) {
    const said = () => filled(text);
    expect(said).toThrow();
    expect(said).not.toThrow("4711000");
  }
});

test("other delimiters; and one action alone has a value that is no text", () => {
  const sign = { open: "$\u007b{", close: "}}" };
  const parse = (text: string) => parseTemplate(text, sign);
  expect(fill(parse("a $\u007b{ .name }} b"), data)).toBe("a web b");
  expect(soleValue(parse("$\u007b{ .list }}"), data)).toEqual({ value: ["a", "b"] });
  expect(soleValue(parse("x$\u007b{ .list }}"), data)).toBeUndefined();
});
