import { randomBytes } from 'node:crypto';

/** A random token, code, key or secret that no server knows. */
export function randomText(): string {
  return randomBytes(18).toString('base64url');
}
