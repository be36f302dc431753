import type { JsonValue } from '#contracts';
import { isJsonObject } from '#object-values';

/** A text that two values share exactly where they are equal, in whichever order their members stand. */
export function canonicalText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}:${canonicalText(item)}`);
  return `{${members.sort().join(',')}}`;
}
