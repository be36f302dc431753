import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';

/** At every depth. */
export function merged(base: JsonObject, over: JsonValue | undefined): JsonObject {
  if (!isJsonObject(over)) return base;
  const entries = Object.entries(over).map(([name, value]): [string, JsonValue] => {
    const own = base[name];
    return [name, isJsonObject(own) && isJsonObject(value) ? merged(own, value) : value];
  });
  return { ...base, ...Object.fromEntries(entries) };
}

export function objectIn(text: string): JsonObject {
  try {
    return objectOr(JSON.parse(text) as JsonValue);
  } catch {
    return {};
  }
}

export function objectOr(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function textOr(value: JsonValue | undefined, fallback: string): string {
  return typeof value === 'string' && value.trim() !== '' ? value : fallback;
}

export function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** In UTF-16 units. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const start = text.slice(0, limit - 1);
  return `${/[\uD800-\uDBFF]$/.test(start) ? start.slice(0, -1) : start}…`;
}

/** Bounded, because the code becomes a key of the push's record. */
export function codeOf(value: JsonValue | undefined): string {
  const code = typeof value === 'number' ? String(value) : value;
  return typeof code === 'string' && /^-?\w{1,20}$/.test(code) ? code : '';
}

export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime();
  return ms > 0 ? ms : undefined;
}
