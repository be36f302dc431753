import { z } from 'zod';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = Record<string, JsonValue>;

/** Any JSON object. Its values are not walked: what came through `JSON.parse` is JSON already. */
export const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON object',
);

const FORM = /^[0-9A-Za-z_-]{1,64}$/;
const ROLE = /^role:[A-Za-z0-9_]{1,128}$/;

/**
 * Whether a text can be the id of an object. Ids made here are 24 hexadecimal digits; objects that were imported into the real
 * service brought ids of their own. `__proto__` is none: as the key of an ACL it would be a prototype.
 */
export function isObjectId(text: string): boolean {
  return FORM.test(text) && text !== '__proto__';
}

/** Whether a text names a user by id, or a role as `role:<name>`, in an ACL or a class permission (specification, Access control list). */
export function isUserOrRole(text: string): boolean {
  return isObjectId(text) || ROLE.test(text);
}
