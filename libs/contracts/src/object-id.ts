const FORM = /^[0-9A-Za-z_-]{1,64}$/;

/**
 * Whether a text can be the id of an object. Ids made here are 24 hexadecimal digits; objects that were imported into the real
 * service brought ids of their own. `__proto__` is none: as the key of an ACL it would be a prototype.
 */
export function isObjectId(text: string): boolean {
  return FORM.test(text) && text !== '__proto__';
}
