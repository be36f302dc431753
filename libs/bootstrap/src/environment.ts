import { z } from 'zod';
import {
  appId,
  credential,
  databaseUrl,
  groupRoles,
  httpUrl,
  issuer,
  MIN_SECRET_LENGTH,
  numbersByVendor,
  onOrOff,
  otelAttributes,
  otlpHeaders,
  otlpUrl,
  platformUrls,
  portOrOff,
  proxies,
  rateLimit,
  redisUrl,
  secret,
  secrets,
  smtpUrl,
  traceSampler,
  url,
  wholeNumber,
} from './environment-values.js';

/** All variables, from which apps pick theirs. One with the prefix of Gatepost that is not listed here prevents the start. */
export const environment = z.object({
  NODE_ENV: z
    .enum(['production', 'development', 'test'])
    .default('development')
    .describe('Mode of the process. In production the server URLs have no defaults.'),
  GATEPOST_PORT: wholeNumber(0, 65_535)
    .default(8080)
    .describe('TCP port of the HTTP server. 0 takes a free port (the gateway then needs GATEPOST_BASE_URL).'),
  GATEPOST_HOST: z.string().min(1).default('0.0.0.0').describe('Address that the HTTP server listens on.'),
  GATEPOST_DATA_DIR: z
    .string()
    .min(1)
    .default('./data')
    .describe('Folder for all data of the standalone server, and for messages that the mail service writes to files.'),
  GATEPOST_BASE_URL: httpUrl
    .optional()
    .describe('Public URL of the API, for Location headers and links. Default: http://localhost:<port>.'),
  GATEPOST_APP_ID: appId
    .optional()
    .describe('Id of the application that the start creates when no application exists.'),
  GATEPOST_APP_KEY: secret(credential).optional().describe('Application key of that application (generated if unset).'),
  GATEPOST_MASTER_KEY: secret(credential).optional().describe('Master key of that application (generated if unset).'),
  GATEPOST_SECRET: secret(z.string().min(MIN_SECRET_LENGTH, 'must have at least 32 characters'))
    .optional()
    .describe('Seals secrets at rest: 32 characters or more, the same for all services. Standalone makes its own.'),
  GATEPOST_ACCEPTED_SECRETS: secrets
    .default([])
    .describe(
      'Further secrets that open sealed values, separated by commas: during a rotation, the other GATEPOST_SECRET.',
    ),
  GATEPOST_PASSWORD_COST: wholeNumber(4, 15)
    .default(10)
    .describe('Cost of bcrypt: the exponent of the number of rounds, from 4 to 15.'),
  GATEPOST_PASSWORD_QUEUE_LIMIT: wholeNumber(1, 100_000)
    .default(128)
    .describe(
      'Maximum number of passwords that wait to be hashed. Above it, and after a wait of 3 seconds, a request gets 503 with Retry-After.',
    ),
  GATEPOST_BODY_LIMIT_BYTES: wholeNumber(1024, 8_388_608)
    .default(1_048_576)
    .describe('Maximum size of a request body, and of the custom fields of a user, in bytes; equal for all services.'),
  GATEPOST_FORWARD_LIMIT_BYTES: wholeNumber(1024, 1_073_741_824)
    .default(104_857_600)
    .describe('Maximum size of the body of a forwarded request, and of its answer, in bytes (setting forwardUrl).'),
  GATEPOST_TRUSTED_PROXIES: proxies
    .default([])
    .describe(
      'Trusted proxies: addresses and networks (also loopback, linklocal, uniquelocal), separated by commas, whose X-Forwarded-For is used.',
    ),
  GATEPOST_RATE_LIMIT_REQUESTS: rateLimit
    .default('off')
    .describe(
      'Limit of requests per client address and application: a count and a time in seconds such as 3000/60, or off.',
    ),
  GATEPOST_RATE_LIMIT_LOGINS: rateLimit
    .default('off')
    .describe('Limit of logins, and of password changes with the old password, per client address and application.'),
  GATEPOST_RATE_LIMIT_SIGN_UPS: rateLimit
    .default('off')
    .describe('Limit of sign-ups per client address and application.'),
  GATEPOST_RATE_LIMIT_MESSAGES: rateLimit
    .default('30/3600')
    .describe('Limit of requests that send a mail or a text message, per client address and application.'),
  GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS: rateLimit
    .default('1000/60')
    .describe(
      'Limit of requests and device logins with an unknown application or a wrong key, per client address and process: a count and a time in seconds, or off.',
    ),
  GATEPOST_RATE_LIMIT_MAILS: rateLimit
    .default('10000/3600')
    .describe(
      'Limit of mails per application: a count and a time in seconds, or off. Mails above the limit are sent later.',
    ),
  GATEPOST_RATE_LIMIT_TEXT_MESSAGES: rateLimit
    .default('10000/3600')
    .describe(
      'Limit of text messages per application: a count and a time in seconds, or off. Requests above the limit are refused (601).',
    ),
  GATEPOST_VERIFICATION_LINK_SECONDS: wholeNumber(1, 31_536_000)
    .default(604_800)
    .describe('Lifetime of a link that verifies an address, in seconds (default: one week).'),
  GATEPOST_RESET_LINK_SECONDS: wholeNumber(1, 31_536_000)
    .default(86_400)
    .describe('Lifetime of a link that resets a password, in seconds (default: one day).'),
  GATEPOST_MAIL_FROM: z
    .string()
    .max(254)
    .regex(/^[^\s@<>(),;:"\\[\]]{1,64}@[^\s@<>(),;:"\\[\]]+$/u, 'must be an address such as no-reply@example.com')
    .optional()
    .describe('Sender address of mails; required in production where SMTP_URL is set. Default: no-reply@localhost.'),
  GATEPOST_SMTP_CONNECTIONS: wholeNumber(1, 100)
    .default(5)
    .describe(
      'Connections of one mail process to the SMTP server, which is also the number of mails that it sends at once.',
    ),
  GATEPOST_DRAIN_SECONDS: wholeNumber(0, 300)
    .default(0)
    .describe('Seconds that /readyz reports "draining" after SIGTERM before the server stops accepting requests.'),
  GATEPOST_DATABASE_POOL: wholeNumber(2, 200)
    .default(10)
    .describe("Connections of a process's main PostgreSQL pool. All pools: up to twice as many and three."),
  GATEPOST_ACCOUNTS_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database URL of the accounts service, if it differs from DATABASE_URL.'),
  GATEPOST_AUTH_LINKING_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database URL of the auth-linking service, if it differs from DATABASE_URL.'),
  GATEPOST_MAIL_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database URL of the mail service, if it differs from DATABASE_URL.'),
  GATEPOST_PUSH_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database URL of the push-delivery service, if it differs from DATABASE_URL.'),
  GATEPOST_PUSH_ROLES: z
    .string()
    .regex(
      /^(?:dispatcher|connector|sender)(?:,(?:dispatcher|connector|sender)){0,2}$/,
      'must be dispatcher, connector and sender, or some of them, separated by commas',
    )
    .transform((roles) => new Set(roles.split(',') as ('dispatcher' | 'connector' | 'sender')[]))
    .default(new Set(['dispatcher', 'connector', 'sender'] as const))
    .describe('Roles of a push-delivery process, separated by commas: dispatcher, connector, sender. Default: all.'),
  GATEPOST_PUSH_VENDOR_URLS: platformUrls
    .default(new Map())
    .describe(
      'Replaced URLs of the push services of vendors: pairs such as apns=https://api.push.apple.com:2197, separated by commas.',
    ),
  GATEPOST_PUSH_VENDOR_WINDOW: numbersByVendor(10_000)
    .default(new Map())
    .describe(
      'Maximum number of requests at once to vendors, for each application and process: pairs such as apns=1000,fcm=500, separated by commas.',
    ),
  GATEPOST_PUSH_VENDOR_CONNECTIONS: numbersByVendor(100)
    .default(new Map())
    .describe(
      'Maximum number of connections to vendors, for apns and fcm of each application, for others of each process and server: pairs such as apns=4,web-push=32, separated by commas.',
    ),
  GATEPOST_PUSH_URL: url(/^wss?$/, 'wss://push.example.com/push')
    .optional()
    .describe('URL that /v1/route returns for devices to connect to. Unset: the addresses of the running connectors.'),
  GATEPOST_PUSH_URL_SECONDARY: url(/^wss?$/, 'wss://push2.example.com/push')
    .optional()
    .describe('Second URL, for devices that cannot reach the first one. Default: the first URL.'),
  GATEPOST_PUSH_CONNECTIONS: wholeNumber(1, 1_000_000)
    .default(100_000)
    .describe('Maximum number of devices on one connector; further devices are asked to retry later.'),
  GATEPOST_PUSH_QUEUE_LIMIT: wholeNumber(1, 120)
    .default(100)
    .describe('Maximum number of messages that wait for one device, up to 120; above it, the oldest are dropped.'),
  GATEPOST_PUSH_PING_SECONDS: wholeNumber(1, 300)
    .default(55)
    .describe(
      "Interval of the connector's heartbeat to each device, in seconds: shorter than the idle timeout of proxies.",
    ),
  GATEPOST_PUSH_RECONNECT_SECONDS: wholeNumber(1, 600)
    .default(30)
    .describe('Time over which a stopping connector spreads the reconnects of its devices, in seconds.'),
  GATEPOST_RATE_LIMIT_DEVICE_LOGINS: rateLimit
    .default('6000/60')
    .describe('Limit of device logins per client address and connector: a count and a time in seconds, or off.'),
  GATEPOST_PLATFORM_URLS: platformUrls
    .default(new Map())
    .describe(
      'Replaced URLs of the platforms that verify accounts: pairs such as taptap=https://open.tapapis.com, separated by commas.',
    ),
  GATEPOST_INTERNAL_NETWORKS: proxies
    .default([])
    .describe(
      'Internal addresses and networks that requests to platforms, push services and text message providers, and forwarded requests, may reach, separated by commas. Unset: none.',
    ),
  GATEPOST_TWILIO_URL: httpUrl
    .default('https://api.twilio.com')
    .describe('URL of the Twilio API, for applications that send text messages through it.'),
  GATEPOST_CONSOLE_PORT: portOrOff
    .default(8090)
    .describe('TCP port of the operator console. 0 takes a free port; off (npm start, npm run services): no console.'),
  GATEPOST_CONSOLE_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address that the operator console listens on. Default: this machine only.'),
  GATEPOST_CONSOLE_NETWORKS: proxies
    .optional()
    .describe('Addresses and networks of clients that the console answers, separated by commas. Unset: all.'),
  GATEPOST_CONSOLE_URL: httpUrl
    .optional()
    .describe('Public URL of the operator console: https, or http on localhost. Default: http://localhost:<port>.'),
  GATEPOST_CONSOLE_DATABASE_URL: databaseUrl
    .optional()
    .describe('Database URL of the console service, if it differs from DATABASE_URL.'),
  GATEPOST_CONSOLE_SECOND_FACTOR: z
    .enum(['required', 'optional'])
    .optional()
    .describe('Whether owners and developers need a second factor: required (default in production) or optional.'),
  GATEPOST_CONSOLE_SESSION_IDLE_SECONDS: wholeNumber(60, 86_400)
    .default(3_600)
    .describe("Time without input in the console's page after which an operator's session ends, in seconds."),
  GATEPOST_CONSOLE_SESSION_SECONDS: wholeNumber(60, 604_800)
    .default(43_200)
    .describe("Time after which an operator's session ends in any case, in seconds."),
  GATEPOST_CONSOLE_AUDIT_DAYS: wholeNumber(30, 3_650)
    .default(400)
    .describe('Days for which entries of the audit log are kept, from 30 to 3650.'),
  GATEPOST_CONSOLE_OIDC_ISSUER: issuer
    .optional()
    .describe('OpenID Connect issuer that signs operators in: https, or http on a loopback host. Unset: none.'),
  GATEPOST_CONSOLE_OIDC_CLIENT_ID: z.string().min(1).max(255).optional().describe('Client id of the console there.'),
  GATEPOST_CONSOLE_OIDC_CLIENT_SECRET: secret(z.string().min(1)).optional().describe('Client secret of the console.'),
  GATEPOST_CONSOLE_OIDC_ROLES: groupRoles
    .default([])
    .describe(
      'Roles by the claim "groups" of the issuer: pairs such as admins:owner,shop-support:support@my-shop, separated by commas. Without @ a role is for all applications.',
    ),
  GATEPOST_CONSOLE_PASSWORDS: onOrOff
    .default('on')
    .describe('Whether operators sign in by passwords and passkeys; off: by the OpenID Connect issuer alone.'),
  GATEPOST_NAMESPACE: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,40}$/, 'must be a lower case letter, then up to 40 lower case letters, digits, _ or -')
    .default('gatepost')
    .describe('Prefix of every queue, exchange and Redis key, so that several deployments can share servers.'),
  GATEPOST_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Minimum level of logged lines: debug, info, warn or error. Default of the standalone server: warn.'),
  DATABASE_URL: databaseUrl.default('postgres://postgres:postgres@localhost:5432/postgres').describe('PostgreSQL.'),
  REDIS_URL: redisUrl
    .default('redis://localhost:6379')
    .describe(
      'Redis: one server, some nodes of a cluster (redis+cluster://host1:6379,host2:6379), or some Sentinels and the name of their master (redis+sentinel://host1:26379,host2:26379/name); rediss for TLS.',
    ),
  AMQP_URL: url(/^amqps?$/, 'amqp://user:password@host:5672')
    .default('amqp://guest:guest@localhost:5672')
    .describe('RabbitMQ.'),
  SMTP_URL: smtpUrl
    .optional()
    .describe(
      'SMTP server that sends mails (smtp: uses STARTTLS where the server offers it, with ?requireTLS=true always). Unset: mails are written to files.',
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl
    .optional()
    .describe('OpenTelemetry collector for traces, by OTLP over HTTP. Unset: no traces.'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: otlpUrl
    .optional()
    .describe('Full URL for traces. Default: OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces appended.'),
  OTEL_EXPORTER_OTLP_HEADERS: secret(otlpHeaders)
    .optional()
    .describe('Headers for the collector, such as credentials: pairs such as x-api-key=secret, separated by commas.'),
  OTEL_TRACES_SAMPLER: traceSampler
    .optional()
    .describe(
      'Requests that the gateway traces: parentbased_always_on (all, default) or parentbased_traceidratio (a share).',
    ),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/, 'must be a number from 0 to 1')
    .optional()
    .describe('The share of traced requests: 0.01 is one request in a hundred.'),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .describe('Name of the process in traces. Default: gatepost- and the name of the service.'),
  OTEL_RESOURCE_ATTRIBUTES: otelAttributes
    .optional()
    .describe('Further attributes in traces: pairs such as deployment.environment.name=staging, separated by commas.'),
});

/** Server URLs that have defaults for development and are required in production. */
export const SERVER_URLS = ['DATABASE_URL', 'REDIS_URL', 'AMQP_URL'] as const;
