import { join, resolve } from 'node:path';
import type { z } from 'zod';
import { ConfigError, environment, Secret } from '#bootstrap';
import { Database } from '#database';

export const mailEnvironment = environment
  .pick({
    DATABASE_URL: true,
    GATEPOST_ACCEPTED_SECRETS: true,
    GATEPOST_BASE_URL: true,
    GATEPOST_DATABASE_POOL: true,
    GATEPOST_DATA_DIR: true,
    GATEPOST_INTERNAL_NETWORKS: true,
    GATEPOST_MAIL_DATABASE_URL: true,
    GATEPOST_MAIL_FROM: true,
    GATEPOST_RATE_LIMIT_MAILS: true,
    GATEPOST_SECRET: true,
    GATEPOST_SMTP_CONNECTIONS: true,
    GATEPOST_TWILIO_URL: true,
    NODE_ENV: true,
    SMTP_URL: true,
  })
  .required({ GATEPOST_SECRET: true });

export interface MailLimit {
  readonly count: number;
  readonly seconds: number;
}

export interface MailConfig {
  readonly databaseUrl: string;
  readonly databasePool: number;
  readonly secret: Secret;
  readonly acceptedSecrets: readonly Secret[];
  /** The public address of the API, the beginning of links in mails. */
  readonly baseUrl: string;
  readonly mailFrom: string;
  readonly smtp: { readonly url: Secret; readonly connections: number } | undefined;
  readonly mailLimit: MailLimit | undefined;
  readonly mailFolder: string;
  readonly textMessageFolder: string;
  readonly twilioUrl: string;
  readonly internalNetworks: readonly string[];
  /** Shows a line to the developer who runs the process; does nothing in production. */
  readonly show: (line: string) => void;
}

export const MAIL_CONFIG = Symbol('MailConfig');

/** A class of its own, so that one process can inject the databases of several services. */
export class MailDatabase extends Database {}

const DEVELOPMENT_BASE_URL = 'http://localhost:8080';
const DEVELOPMENT_FROM = 'no-reply@localhost';

type Environment = z.output<typeof mailEnvironment>;

/** @throws ConfigError if production lacks the base URL of links or the sender address of mails */
export function mailConfig(env: Environment): MailConfig {
  const problems = problemsOf(env);
  if (problems.length > 0) throw new ConfigError(problems);
  const outbox = join(resolve(env.GATEPOST_DATA_DIR), 'outbox');
  return Object.freeze({
    databaseUrl: env.GATEPOST_MAIL_DATABASE_URL ?? env.DATABASE_URL,
    databasePool: env.GATEPOST_DATABASE_POOL,
    secret: env.GATEPOST_SECRET,
    acceptedSecrets: env.GATEPOST_ACCEPTED_SECRETS,
    baseUrl: env.GATEPOST_BASE_URL ?? DEVELOPMENT_BASE_URL,
    mailFrom: env.GATEPOST_MAIL_FROM ?? DEVELOPMENT_FROM,
    smtp: smtpOf(env),
    mailLimit: mailLimitOf(env.GATEPOST_RATE_LIMIT_MAILS),
    mailFolder: join(outbox, 'mail'),
    textMessageFolder: join(outbox, 'sms'),
    twilioUrl: env.GATEPOST_TWILIO_URL,
    internalNetworks: env.GATEPOST_INTERNAL_NETWORKS,
    show: env.NODE_ENV === 'production' ? () => undefined : showOnConsole,
  });
}

function problemsOf(env: Environment): string[] {
  const isProduction = env.NODE_ENV === 'production';
  return [
    ...(isProduction && env.GATEPOST_BASE_URL === undefined
      ? ['GATEPOST_BASE_URL: must be set in production; it is the beginning of links in mails']
      : []),
    ...(isProduction && env.SMTP_URL !== undefined && env.GATEPOST_MAIL_FROM === undefined
      ? ['GATEPOST_MAIL_FROM: must be set if SMTP_URL is set; it is the sender of mails']
      : []),
  ];
}

function smtpOf({ SMTP_URL: url, GATEPOST_SMTP_CONNECTIONS: connections }: Environment): MailConfig['smtp'] {
  return url === undefined ? undefined : { url: new Secret(url), connections };
}

/** `10000/3600` as its parts; undefined for `off`. The environment's schema has checked the text. */
function mailLimitOf(text: string): MailLimit | undefined {
  const [count, seconds] = text.split('/').map(Number);
  return count === undefined || seconds === undefined ? undefined : { count, seconds };
}

/** Standard output, not the log: logs are stored and copied, and these lines contain codes and links. */
function showOnConsole(line: string): void {
  process.stdout.write(`${line}\n`);
}
