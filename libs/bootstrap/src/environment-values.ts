// The forms of values that several environment variables share.
import { BlockList, isIP } from 'node:net';
import { inspect } from 'node:util';
import { z } from 'zod';

const HIDDEN = '***';

/** A configuration value that logs, JSON and string conversion show as `***`. Only `reveal()` returns it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

/** Browsers treat these as secure without TLS. */
export const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export const NAMED_NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};
const MAX_PREFIX: Readonly<Record<number, number>> = { 4: 32, 6: 128 };
const PREFIX = /^[1-9]\d{0,2}$/;

/** Whether the text is an address, a network such as `10.0.0.0/8`, or the name of a network. */
export function isProxy(text: string): boolean {
  if (Object.hasOwn(NAMED_NETWORKS, text)) return true;
  const [address = '', prefix, ...rest] = text.split('/');
  const maxPrefix = MAX_PREFIX[isIP(address)];
  if (maxPrefix === undefined || rest.length > 0) return false;
  return prefix === undefined || (PREFIX.test(prefix) && Number(prefix) <= maxPrefix);
}

/** Addresses, networks and names of networks for which `isProxy` is true. */
export class NetworkList {
  readonly #list = new BlockList();

  constructor(texts: readonly string[]) {
    for (const text of texts.flatMap((each) => NAMED_NETWORKS[each] ?? [each])) {
      const [address = '', prefix] = text.split('/');
      this.#list.addSubnet(address, Number(prefix ?? MAX_PREFIX[isIP(address)]), familyOf(address));
    }
  }

  /** False for a text that is no address. */
  includes(text: string): boolean {
    const [address = ''] = text.split('%', 1);
    return isIP(address) !== 0 && this.#list.check(address, familyOf(address));
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export type RedisServers =
  | { readonly kind: 'server'; readonly url: string }
  | {
      readonly kind: 'cluster';
      readonly isEncrypted: boolean;
      readonly login: Login;
      /** At least one node; the client learns the others from it. */
      readonly nodes: readonly Endpoint[];
    }
  | {
      readonly kind: 'sentinel';
      readonly isEncrypted: boolean;
      readonly login: Login;
      readonly sentinelLogin: Login;
      /** At least one Sentinel; the client learns the others from it. */
      readonly sentinels: readonly Endpoint[];
      readonly masterName: string;
      readonly database: number;
    };

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
const MANY_HOSTS = /^(rediss?)\+(cluster|sentinel):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const MASTER = /^([^/]+)(?:\/(\d{1,5}))?$/;
const SENTINEL_PARAMETERS = new Set(['sentinel_username', 'sentinel_password']);

/** The forms that docs/operations.md ("Cluster and Sentinels") lists: `redis://`, `redis+cluster://`, `redis+sentinel://`; `rediss` for TLS. */
export function parseRedisUrl(text: string): RedisServers | undefined {
  const many = MANY_HOSTS.exec(text);
  try {
    if (many !== null) return manyFrom(many);
    return isServerUrl(text) ? { kind: 'server', url: text } : undefined;
  } catch {
    return undefined;
  }
}

function manyFrom([, scheme, kind, login = '', hosts = '', path = '', query = '']: RegExpExecArray):
  | RedisServers
  | undefined {
  const shared = { isEncrypted: scheme === 'rediss', login: loginFrom(login) };
  if (kind === 'sentinel') return sentinelFrom(hosts, path, new URLSearchParams(query), shared);
  // A cluster has only database 0 and no settings.
  if (!['', '0'].includes(path) || query !== '') return undefined;
  return { kind: 'cluster', ...shared, nodes: endpointsFrom(hosts, REDIS_PORT) };
}

function isServerUrl(text: string): boolean {
  const { protocol, hostname, pathname } = new URL(text);
  return ['redis:', 'rediss:'].includes(protocol) && hostname !== '' && /^(?:\/\d{0,5})?$/.test(pathname);
}

function sentinelFrom(
  hosts: string,
  path: string,
  query: URLSearchParams,
  shared: { readonly isEncrypted: boolean; readonly login: Login },
): RedisServers | undefined {
  const [, masterName, database = '0'] = MASTER.exec(path) ?? [];
  if (masterName === undefined || [...query.keys()].some((name) => !SENTINEL_PARAMETERS.has(name))) return undefined;
  return {
    kind: 'sentinel',
    ...shared,
    sentinelLogin: loginOf(query.get('sentinel_username') ?? '', query.get('sentinel_password') ?? ''),
    sentinels: endpointsFrom(hosts, SENTINEL_PORT),
    masterName: decodeURIComponent(masterName),
    database: Number(database),
  };
}

function endpointsFrom(hosts: string, defaultPort: number): Endpoint[] {
  return hosts.split(',').map((each) => {
    const { hostname, port } = new URL(`redis://${each.trim()}`);
    if (hostname === '') throw new TypeError('a host is missing');
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? defaultPort : Number(port) };
  });
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { search, hash, username, password } = new URL(text);
  return `${search}${hash}${username}${password}` === '' && !/[?#]/.test(text);
}

/** Drivers throw for an escape that is no UTF-8. That of PostgreSQL takes other `%` as they are. */
function hasValidEscapes(text: string): boolean {
  try {
    return typeof decodeURIComponent(text) === 'string';
  } catch {
    return false;
  }
}

function isSmtpOption([name, value]: [string, string]): boolean {
  if (name === 'requireTLS' || name === 'ignoreTLS') return value === 'true' || value === 'false';
  return name === 'name' || name === 'authMethod' || name.startsWith('tls.');
}

function loginFrom(text: string): Login {
  const [username = '', password = ''] = text.split(/:(.*)/s, 2).map(decodeURIComponent);
  return loginOf(username, password);
}

function loginOf(username: string, password: string): Login {
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
}

export const secret = (schema: z.ZodString): z.ZodType<Secret, string> =>
  schema.transform((value) => new Secret(value));
export const wholeNumber = (min: number, max: number, alternative = ''): z.ZodType<number, string> =>
  z
    .string()
    .transform((text) => (/^\d{1,10}$/.test(text) ? Number(text) : Number.NaN))
    .refine((value) => value >= min && value <= max, `must be ${alternative}a whole number from ${min} to ${max}`);
export const portOrOff = z.union([z.literal('off'), wholeNumber(0, 65_535, 'off, or ')]);
export const onOrOff = z.enum(['on', 'off']);
export const url = (protocols: RegExp, example: string): z.ZodType<string, string> => {
  const error = `must be a URL such as ${example}`;
  return z.url({ protocol: protocols, error, abort: true }).refine((text) => text.includes('://'), error);
};
export const httpUrl = url(/^https?$/, 'https://accounts.example.com')
  .refine(isPlainUrl, 'must have neither ? nor # nor a user')
  .transform((value) => value.replace(/\/+$/, ''));
/** nodemailer takes a part with a malformed escape as it stands. It ignores unknown options: clear text where `requireTLS` is misspelt. */
const isForNodemailer = (part: string) => !/%[0-9a-f]{2}/i.test(part) || hasValidEscapes(part);
const ESCAPES = 'must have %25 in place of each %, as in a password';
export const smtpUrl = url(/^smtps?$/, 'smtps://user:password@smtp.example.com:465')
  .refine((text) => [new URL(text).username, new URL(text).password].every(isForNodemailer), ESCAPES)
  .refine(
    (text) => [...new URL(text).searchParams].every(isSmtpOption),
    'may have the options requireTLS=true, ignoreTLS=true, name=…, authMethod=… and tls.…=… only, spelt like this',
  );
/** OpenTelemetry drops each header that it cannot read, and all attributes where it cannot read one. */
const openTelemetryPairs = (pair: RegExp, escapes: string): z.ZodString =>
  z
    .string()
    .refine(
      (text) => hasValidEscapes(text) && text.split(',').every((each) => pair.test(each.trim())),
      `must be pairs such as name=value, separated by commas, with %2C for a comma in a value, %25 for %, ${escapes}`,
    );
export const otlpHeaders = openTelemetryPairs(/^[\w.%!#$&'*+^`|~-]+\s*=\s*[^;\s][^;]*;?$|^$/, '%3B for ;');
export const otelAttributes = openTelemetryPairs(/^[^=]+=[^=]*$|^$/, '%3D for =');
export const otlpUrl = url(/^https?$/, 'http://collector:4318');
export const rateLimit = z
  .string()
  .regex(/^(?:off|[1-9]\d{0,8}\/[1-9]\d{0,4})$/, 'must be off, or a count and a time in seconds such as 30/3600');
const list = z.string().transform((text) => text.split(',').map((each) => each.trim()));
export const proxies = list.pipe(
  z.array(z.string().refine(isProxy, 'must be addresses or networks such as 10.0.0.0/8, separated by commas')),
);
const PAIRS = 'must be pairs such as name=https://host';
export const platformUrls = list
  .transform((pairs) => pairs.map((pair) => pair.split(/=(.*)/s, 2)))
  .pipe(z.array(z.tuple([z.string(), z.url({ protocol: /^https?$/, error: PAIRS })], PAIRS)))
  .transform((pairs) => new Map(pairs.map(([platform, address]) => [platform, address.replace(/\/+$/, '')])));
export const numbersByVendor = (most: number): z.ZodType<Map<string, number>, string> => {
  const error = `must be pairs such as apns=${most},fcm=50, separated by commas, with numbers from 1 to ${most}`;
  return z
    .string()
    .regex(/^[a-z-]+=[1-9]\d{0,4}(?:,[a-z-]+=[1-9]\d{0,4})*$/, error)
    .transform(
      (text) => new Map(text.split(',').map((pair) => [pair.replace(/=.*/, ''), Number(pair.replace(/.*=/, ''))])),
    )
    .refine((numbers) => [...numbers.values()].every((each) => each <= most), error);
};
const isForPg = (text: string) => /%(?![0-9a-f]{2})/i.test(text) || hasValidEscapes(text);
export const databaseUrl = url(/^postgres(ql)?$/, 'postgres://user:password@host:5432/db').refine(isForPg, ESCAPES);
export const redisUrl = z
  .string()
  .refine(hasValidEscapes, ESCAPES)
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
export const groupRoles = list.pipe(z.array(groupRole));
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
