import { randomBytes } from 'node:crypto';

/** 24 hexadecimal digits that begin with the time in seconds, so that new rows stand together in indexes. */
export function newObjectId(now: Date): string {
  const seconds = Math.floor(now.getTime() / 1000) >>> 0;
  return seconds.toString(16).padStart(8, '0') + randomBytes(8).toString('hex');
}
