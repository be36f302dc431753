import { z } from 'zod';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = Record<string, JsonValue>;

/** Any JSON object. The schema does not check the values: the output of `JSON.parse` is JSON already. */
export const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON object',
);

const FORM = /^[0-9A-Za-z_-]{1,64}$/;
const ROLE = /^role:[A-Za-z0-9_]{1,128}$/;

/**
 * Whether a text can be an object id. Ids generated here have 24 hexadecimal digits; imported objects keep ids of other forms. `__proto__`
 * is refused, because as the key of an ACL it would set a prototype.
 */
export function isObjectId(text: string): boolean {
  return FORM.test(text) && text !== '__proto__';
}

/** Whether a text names a user by id, or a role as `role:<name>`, in an ACL or a class permission (specification, Access control list). */
export function isUserOrRole(text: string): boolean {
  return isObjectId(text) || ROLE.test(text);
}
