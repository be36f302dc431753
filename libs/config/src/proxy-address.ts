import { isIP } from 'node:net';

/** Networks that have a name, as Fastify knows them. */
const NAMES = new Set(['loopback', 'linklocal', 'uniquelocal']);
const MAX_PREFIX: Readonly<Record<number, number>> = { 4: 32, 6: 128 };
const PREFIX = /^[1-9]\d{0,2}$/;

/** Whether the text is an address, a network such as `10.0.0.0/8`, or the name of one. */
export function isProxy(text: string): boolean {
  if (NAMES.has(text)) return true;
  const [address = '', prefix, ...rest] = text.split('/');
  const maxPrefix = MAX_PREFIX[isIP(address)];
  if (maxPrefix === undefined || rest.length > 0) return false;
  return prefix === undefined || (PREFIX.test(prefix) && Number(prefix) <= maxPrefix);
}
