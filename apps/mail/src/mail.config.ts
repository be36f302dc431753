import { join, resolve } from 'node:path';
import type { z } from 'zod';
import { environment, type Secret } from '#config';

/** The variables of the mail service. */
export const mailEnvironment = environment
  .pick({ GATEPOST_DATA_DIR: true, GATEPOST_SECRET: true, NODE_ENV: true })
  .required({ GATEPOST_SECRET: true });

export interface MailConfig {
  readonly secret: Secret;
  /** Where text messages are written that nothing else sends. */
  readonly textMessageFolder: string;
  /** Shows a line to the developer who runs the process; does nothing in production. */
  readonly show: (line: string) => void;
}

/** DI token of `MailConfig`. */
export const MAIL_CONFIG = Symbol('MailConfig');

export function mailConfig(env: z.output<typeof mailEnvironment>): MailConfig {
  return Object.freeze({
    secret: env.GATEPOST_SECRET,
    textMessageFolder: join(resolve(env.GATEPOST_DATA_DIR), 'outbox', 'sms'),
    show: env.NODE_ENV === 'production' ? () => undefined : showOnConsole,
  });
}

/** Standard output, not the log: a log is kept and copied, and these lines hold codes. */
function showOnConsole(line: string): void {
  process.stdout.write(`${line}\n`);
}
