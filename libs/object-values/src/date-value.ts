import type { JsonValue } from '#contracts';
import { isJsonObject } from './json-object.js';

const ISO_TIME =
  /^(?<day>\d{4}-\d\d-\d\d)(?:T(?<time>(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)(?:Z|(?<offset>[+-]\d\d:?\d\d))?)?$/;

/**
 * The moment that a Date value or a bare ISO 8601 string means; undefined where it means none.
 * Without an offset the time is UTC. Years are 1 to 9999: their canonical texts are ordered as the moments are.
 */
export function dateOf(value: JsonValue | undefined): Date | undefined {
  if (typeof value === 'string') return dateOfText(value);
  const iso = isJsonObject(value) && value['__type'] === 'Date' ? value['iso'] : undefined;
  return typeof iso === 'string' ? dateOfText(iso) : undefined;
}

function dateOfText(text: string): Date | undefined {
  const { day, time = '00:00', offset = 'Z' } = ISO_TIME.exec(text)?.groups ?? {};
  if (day === undefined || !isCalendarDay(day)) return undefined;
  const date = new Date(`${day}T${time}${withColon(offset)}`);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date : undefined;
}

/** JavaScript takes February 30 for March 2. */
function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function withColon(offset: string): string {
  return offset.length === 5 ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset;
}
