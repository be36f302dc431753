import { randomBytes } from 'node:crypto';

/** A token, code, key or secret that nobody has seen. */
export function randomText(): string {
  return randomBytes(18).toString('base64url');
}
