import { z } from 'zod';
import { isProxy, parseRedisUrl, Secret } from './environment-values.js';

const secret = (schema: z.ZodString) => schema.transform((value) => new Secret(value));
const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,10}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.number().min(min).max(max));
const url = (protocols: RegExp, example: string) =>
  z.url({ protocol: protocols, error: `must be a URL such as ${example}` });
const httpUrl = url(/^https?$/, 'https://accounts.example.com').transform((value) => value.replace(/\/+$/, ''));
const otlpUrl = url(/^https?$/, 'http://collector:4318');
const rateLimit = z
  .string()
  .regex(/^(?:off|[1-9]\d{0,8}\/[1-9]\d{0,4})$/, 'must be off, or a count and a time in seconds such as 30/3600');
const proxies = z
  .string()
  .transform((text) => text.split(',').map((proxy) => proxy.trim()))
  .pipe(z.array(z.string().refine(isProxy, 'must be addresses or networks such as 10.0.0.0/8, joined by commas')));
const platformUrls = z
  .string()
  .transform((text) => text.split(',').map((pair) => pair.trim().split(/=(.*)/s, 2)))
  .pipe(
    z.array(
      z.tuple([z.string(), z.url({ protocol: /^https?$/ })], 'must be pairs such as weixin=https://api.weixin.qq.com'),
    ),
  )
  .transform((pairs) => new Map(pairs.map(([platform, address]) => [platform, address.replace(/\/+$/, '')])));
const databaseUrl = url(/^postgres(ql)?$/, 'postgres://user:password@host:5432/database');
const redisUrl = z
  .string()
  .refine(
    (text) => parseRedisUrl(text) !== undefined,
    'must be a URL such as redis://host:6379, redis+cluster://host1:6379,host2:6379 or redis+sentinel://host1:26379,host2:26379/name',
  );
const MIN_SECRET_LENGTH = 32;
/** Blanks around a secret may be those of the list or, as of a file's last line, the secret's own. */
const secrets = z
  .string()
  .transform((text) => [...new Set(text.split(',').flatMap((one) => [one.trim(), one]))])
  .pipe(z.array(z.string().min(MIN_SECRET_LENGTH, 'must be secrets of 32 characters or more, joined by commas')))
  .transform((list): readonly Secret[] => list.map((one) => new Secret(one)));
const appId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -');
const credential = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -');

/**
 * Every environment variable of every app, with its meaning. Apps pick theirs from it, so a key of ours that stands
 * here for none is a typo and stops the start; `deploy/env.example` is made from it.
 */
export const environment = z.object({
  NODE_ENV: z
    .enum(['production', 'development', 'test'])
    .default('development')
    .describe('In production the URLs of the servers have no defaults.'),
  GATEPOST_PORT: wholeNumber(0, 65_535)
    .default(8080)
    .describe('TCP port of the HTTP server. 0 takes a free one (the gateway then needs GATEPOST_BASE_URL).'),
  GATEPOST_HOST: z.string().min(1).default('0.0.0.0').describe('Address the HTTP server listens on.'),
  GATEPOST_DATA_DIR: z
    .string()
    .min(1)
    .default('./data')
    .describe('Folder in which the standalone server keeps everything, and mail the messages that nothing else sends.'),
  GATEPOST_BASE_URL: httpUrl
    .optional()
    .describe('Public address of the API, for Location headers and links. Default: http://localhost:<port>.'),
  GATEPOST_APP_ID: appId.optional().describe('Id of the application to create when there is none.'),
  GATEPOST_APP_KEY: secret(credential).optional().describe('Its application key (made up where unset).'),
  GATEPOST_MASTER_KEY: secret(credential).optional().describe('Its master key (made up where unset).'),
  GATEPOST_SECRET: secret(z.string().min(MIN_SECRET_LENGTH, 'must have at least 32 characters'))
    .optional()
    .describe('Seals secrets at rest. The standalone server makes and keeps one; services need the same one each.'),
  GATEPOST_ACCEPTED_SECRETS: secrets
    .default([])
    .describe(
      'Other secrets that open what was sealed with them, joined by commas: the next or the last GATEPOST_SECRET while it is replaced.',
    ),
  GATEPOST_PASSWORD_COST: wholeNumber(4, 15).default(10).describe('Cost of bcrypt, as the exponent of its rounds.'),
  GATEPOST_PASSWORD_QUEUE_LIMIT: wholeNumber(1, 100_000)
    .default(128)
    .describe(
      'Passwords that may wait to be hashed; over it, and after three seconds, a request gets 503 with Retry-After.',
    ),
  GATEPOST_BODY_LIMIT_BYTES: wholeNumber(1024, 8_388_608)
    .default(1_048_576)
    .describe('Largest request body, and largest custom fields of one user together, in bytes.'),
  GATEPOST_TRUSTED_PROXIES: proxies
    .default([])
    .describe(
      'Addresses and networks (also loopback, linklocal, uniquelocal), joined by commas, from which X-Forwarded-For is believed.',
    ),
  GATEPOST_RATE_LIMIT_REQUESTS: rateLimit
    .default('off')
    .describe('Requests of one address to one application: a count and a time in seconds such as 3000/60, or off.'),
  GATEPOST_RATE_LIMIT_LOGINS: rateLimit
    .default('off')
    .describe('The same for logins alone, and for changes of a password that name the old one.'),
  GATEPOST_RATE_LIMIT_SIGN_UPS: rateLimit.default('off').describe('The same for sign-ups.'),
  GATEPOST_RATE_LIMIT_MESSAGES: rateLimit
    .default('30/3600')
    .describe('The same for requests that send a mail or a text message.'),
  GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS: rateLimit
    .default('1000/60')
    .describe(
      'Requests, and logins of devices, of one address that name an unknown application or a wrong key, at one process: a count and a time in seconds, or off.',
    ),
  GATEPOST_RATE_LIMIT_MAILS: rateLimit
    .default('10000/3600')
    .describe('Mails of one application: a count and a time in seconds, or off. What is over it is sent later.'),
  GATEPOST_VERIFICATION_LINK_SECONDS: wholeNumber(1, 31_536_000)
    .default(604_800)
    .describe('How long a link that verifies an address is good, in seconds (one week).'),
  GATEPOST_RESET_LINK_SECONDS: wholeNumber(1, 31_536_000)
    .default(86_400)
    .describe('How long a link that resets a password is good, in seconds (one day).'),
  GATEPOST_MAIL_FROM: z
    .string()
    .max(254)
    .regex(/^[^\s@<>(),;:"\\[\]]{1,64}@[^\s@<>(),;:"\\[\]]+$/u, 'must be an address such as no-reply@example.com')
    .optional()
    .describe('Address that mails come from; needed in production where SMTP_URL is set. Default: no-reply@localhost.'),
  GATEPOST_SMTP_CONNECTIONS: wholeNumber(1, 100)
    .default(5)
    .describe('Connections of one mail process to the SMTP server, and so the mails that it sends at once.'),
  GATEPOST_DRAIN_SECONDS: wholeNumber(0, 300)
    .default(0)
    .describe('How long /readyz says "draining" after SIGTERM before the server stops to accept requests, in seconds.'),
  GATEPOST_DATABASE_POOL: wholeNumber(2, 200).default(10).describe('PostgreSQL connections of one process.'),
  GATEPOST_ACCOUNTS_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database of the accounts service, where it is not DATABASE_URL.'),
  GATEPOST_AUTH_LINKING_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database of the auth-linking service, where it is not DATABASE_URL.'),
  GATEPOST_MAIL_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database of the mail service, where it is not DATABASE_URL.'),
  GATEPOST_PUSH_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database of the push-delivery service, where it is not DATABASE_URL.'),
  GATEPOST_PUSH_ROLES: z
    .string()
    .regex(
      /^(?:dispatcher|connector)(?:,(?:dispatcher|connector))?$/,
      'must be dispatcher, connector, or both joined by a comma',
    )
    .transform((roles) => new Set(roles.split(',') as ('dispatcher' | 'connector')[]))
    .default(new Set(['dispatcher', 'connector'] as const))
    .describe('What a push-delivery process does: dispatcher, connector, or both joined by a comma. Default: both.'),
  GATEPOST_PUSH_URL: url(/^wss?$/, 'wss://push.example.com/push')
    .optional()
    .describe('Address that devices connect to, as /v1/route tells them. Unset: those of the connectors that run.'),
  GATEPOST_PUSH_URL_SECONDARY: url(/^wss?$/, 'wss://push2.example.com/push')
    .optional()
    .describe('Another such address, for devices that do not reach the first. Default: the same.'),
  GATEPOST_PUSH_CONNECTIONS: wholeNumber(1, 1_000_000)
    .default(100_000)
    .describe('Devices that one connector takes at once; more are told to come back.'),
  GATEPOST_PUSH_QUEUE_LIMIT: wholeNumber(1, 120)
    .default(100)
    .describe('Messages that wait for one device; of more, the oldest are dropped and counted.'),
  GATEPOST_PUSH_PING_SECONDS: wholeNumber(1, 300)
    .default(55)
    .describe(
      'How often a connector asks each device whether it is there, in seconds: less than proxies keep silent connections.',
    ),
  GATEPOST_PUSH_RECONNECT_SECONDS: wholeNumber(1, 600)
    .default(30)
    .describe('Over how long a connector that stops spreads the return of its devices, in seconds.'),
  GATEPOST_RATE_LIMIT_DEVICE_LOGINS: rateLimit
    .default('6000/60')
    .describe('Logins of devices from one address at one connector: a count and a time in seconds, or off.'),
  GATEPOST_PLATFORM_URLS: platformUrls
    .default(new Map())
    .describe(
      'Other addresses of the platforms that accounts are verified with: pairs such as taptap=https://open.tapapis.com, joined by commas.',
    ),
  GATEPOST_INTERNAL_NETWORKS: proxies
    .default([])
    .describe(
      'Internal addresses and networks that requests to platforms and to providers of text messages may reach all the same, joined by commas. Without it, none.',
    ),
  GATEPOST_TWILIO_URL: httpUrl
    .default('https://api.twilio.com')
    .describe('Address of the API of Twilio, for applications whose text messages it sends.'),
  GATEPOST_NAMESPACE: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,40}$/, 'must be lower case letters, digits, _ or -')
    .default('gatepost')
    .describe('Prefix of every queue, exchange and Redis key, so that several deployments can share servers.'),
  GATEPOST_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least level that is logged.'),
  DATABASE_URL: databaseUrl.default('postgres://postgres:postgres@localhost:5432/postgres').describe('PostgreSQL.'),
  REDIS_URL: redisUrl
    .default('redis://localhost:6379')
    .describe(
      'Redis: one server, some nodes of a cluster (redis+cluster://host1:6379,host2:6379), or some Sentinels and the name of the master that they watch (redis+sentinel://host1:26379,host2:26379/name); rediss for TLS.',
    ),
  AMQP_URL: url(/^amqps?$/, 'amqp://user:password@host:5672')
    .default('amqp://guest:guest@localhost:5672')
    .describe('RabbitMQ.'),
  SMTP_URL: url(/^smtps?$/, 'smtps://user:password@smtp.example.com:465')
    .optional()
    .describe('SMTP server that sends mails (smtp: with STARTTLS where it is offered). Without it they become files.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl
    .optional()
    .describe('OpenTelemetry collector that gets traces, by OTLP over HTTP. Unset: nothing is traced.'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: otlpUrl
    .optional()
    .describe('The whole URL for traces, where it is not OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces behind it.'),
  OTEL_EXPORTER_OTLP_HEADERS: secret(z.string())
    .optional()
    .describe('Headers for the collector, such as its credentials: pairs such as x-api-key=secret, joined by commas.'),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .optional()
    .describe(
      'Which requests are traced, as the gateway decides: all (parentbased_always_on, the default) or a part (parentbased_traceidratio).',
    ),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/, 'must be a number from 0 to 1')
    .optional()
    .describe('That part: 0.01 is one request of a hundred.'),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .describe('Name of the process in traces. Default: gatepost- and the name of the service.'),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .optional()
    .describe(
      'What else traces say of the process: pairs such as deployment.environment.name=staging, joined by commas.',
    ),
});

/** Server URLs that have a default for development and must be given in production. */
export const SERVER_URLS = ['DATABASE_URL', 'REDIS_URL', 'AMQP_URL'] as const;
