/** Longest message of a condition, in characters, as tofu-controller cuts it. */
const MESSAGE_LENGTH_MAX = 20_000;

/** A message as it is stored. A character is never cut in two. */
export function cut(message: string): string {
  if (message.length <= MESSAGE_LENGTH_MAX) return message;
  const characters = [...message];
  if (characters.length <= MESSAGE_LENGTH_MAX) return message;
  return `${characters.slice(0, MESSAGE_LENGTH_MAX).join("")}...`;
}
