// The forms of values that several environment variables share.
import { z } from 'zod';
import { isProxy, LOOPBACK_HOSTS, parseRedisUrl, Secret } from './environment-values.js';

export const secret = (schema: z.ZodString): z.ZodType<Secret, string> =>
  schema.transform((value) => new Secret(value));
export const wholeNumber = (min: number, max: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,10}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.number().min(min).max(max));
export const portOrOff = z.union([z.literal('off'), wholeNumber(0, 65_535)], {
  error: 'must be off, or a whole number from 0 to 65535',
});
export const onOrOff = z.enum(['on', 'off'], { error: 'must be on or off' });
export const url = (protocols: RegExp, example: string): z.ZodType<string, string> =>
  z.url({ protocol: protocols, error: `must be a URL such as ${example}` });
export const httpUrl = url(/^https?$/, 'https://accounts.example.com').transform((value) => value.replace(/\/+$/, ''));
export const otlpUrl = url(/^https?$/, 'http://collector:4318');
export const rateLimit = z
  .string()
  .regex(/^(?:off|[1-9]\d{0,8}\/[1-9]\d{0,4})$/, 'must be off, or a count and a time in seconds such as 30/3600');
export const proxies = z
  .string()
  .transform((text) => text.split(',').map((proxy) => proxy.trim()))
  .pipe(z.array(z.string().refine(isProxy, 'must be addresses or networks such as 10.0.0.0/8, separated by commas')));
export const platformUrls = z
  .string()
  .transform((text) => text.split(',').map((pair) => pair.trim().split(/=(.*)/s, 2)))
  .pipe(
    z.array(
      z.tuple([z.string(), z.url({ protocol: /^https?$/ })], 'must be pairs such as weixin=https://api.weixin.qq.com'),
    ),
  )
  .transform((pairs) => new Map(pairs.map(([platform, address]) => [platform, address.replace(/\/+$/, '')])));
export const numbersByVendor = (most: number): z.ZodType<Map<string, number>, string> =>
  z
    .string()
    .regex(
      /^[a-z-]+=[1-9]\d{0,4}(?:,[a-z-]+=[1-9]\d{0,4})*$/,
      'must be pairs such as apns=1000,fcm=500, separated by commas',
    )
    .transform((text) =>
      text.split(',').map((pair): [string, number] => [pair.replace(/=.*/, ''), Number(pair.replace(/.*=/, ''))]),
    )
    .refine((pairs) => pairs.every(([, value]) => value <= most), `must be numbers up to ${most}`)
    .transform((pairs) => new Map(pairs));
export const databaseUrl = url(/^postgres(ql)?$/, 'postgres://user:password@host:5432/database');
export const redisUrl = z
  .string()
  .refine(
    (text) => parseRedisUrl(text) !== undefined,
    'must be a URL such as redis://host:6379, redis+cluster://host1:6379,host2:6379 or redis+sentinel://host1:26379,host2:26379/name',
  );
/** An identifier, compared letter by letter: a slash at its end stays. */
export const issuer = url(/^https?$/, 'https://login.example.com').refine(
  (text) => {
    const { protocol, hostname, search, hash } = new URL(text);
    return (protocol === 'https:' || LOOPBACK_HOSTS.has(hostname)) && search === '' && hash === '';
  },
  { error: 'must begin with https, or with http on a loopback host, and have no query' },
);
/** A role for one application, or with null for all. */
export interface GroupRole {
  readonly group: string;
  readonly role: 'developer' | 'owner' | 'support' | 'viewer';
  readonly appId: string | null;
}
const GROUP_ROLE = /^(.+):(?:(owner)|(developer|support|viewer)(?:@([A-Za-z0-9_-]{1,64}))?)$/;
const groupRole = z
  .string()
  .regex(
    GROUP_ROLE,
    'must be pairs such as admins:owner,shop-support:support@my-shop, with owner, developer, support or viewer',
  )
  .transform((text): GroupRole => {
    const [, group = '', owner, role, app] = GROUP_ROLE.exec(text) ?? [];
    return { group, role: (owner ?? role) as GroupRole['role'], appId: app ?? null };
  });
export const groupRoles = z
  .string()
  .transform((text) => text.split(',').map((pair) => pair.trim()))
  .pipe(z.array(groupRole));
export const MIN_SECRET_LENGTH = 32;
/** Surrounding blanks may belong to the list or, as the end of a file's last line, to the secret itself. */
export const secrets = z
  .string()
  .transform((text) => [...new Set(text.split(',').flatMap((one) => [one.trim(), one]))])
  .pipe(z.array(z.string().min(MIN_SECRET_LENGTH, 'must be secrets of 32 characters or more, separated by commas')))
  .transform((list): readonly Secret[] => list.map((one) => new Secret(one)));
export const appId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -');
export const credential = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -');
export const traceSampler = z.enum([
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
]);
