import { messageOf } from '#errors';
import { ChannelAway, DeliveryRefused } from '../deliveries/delivery.channel.js';
import { needsSmtpUtf8 } from './mail.rules.js';

export const NO_SMTPUTF8 = 'the server takes no address with such letters before the @ (SMTPUTF8)';

/** What nodemailer tells of a failure. */
interface NodemailerFailure {
  readonly code?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
}

const CONNECTION_CODES = new Set<unknown>([
  'EAUTH',
  'ECONNECTION',
  'EDNS',
  'ENOAUTH',
  'EPROTOCOL',
  'ESOCKET',
  'ETIMEDOUT',
  'ETLS',
]);
/** The server wants us to log in, or does not like how we did: that is no fault of the mail. */
const LOGIN_ANSWERS = new Set<unknown>([530, 534, 535, 538]);
/** These answers are final, but for one that says that the session, not the mail, was out of order. */
const FINAL = /^5\d\d$/;
const BAD_SEQUENCE = 503;

export interface FailedMail {
  readonly recipient: string;
  /** Whether the server had let us in and got the mail's first command. */
  readonly hasBegun: boolean;
}

/** A failure of nodemailer as the queue understands it. */
export function smtpFailure(thrown: unknown, failed: FailedMail): Error {
  const failure: NodemailerFailure = thrown ?? {};
  const message = messageOf(thrown);
  // It goes into the log, and servers repeat addresses in their answers.
  if (isServerAway(failure, failed)) return new ChannelAway(message.replaceAll(failed.recipient, 'the recipient'));
  if (!isFinal(failure)) return new Error(message, { cause: thrown });
  if (!needsSmtpUtf8(failed.recipient)) return new DeliveryRefused(message);
  return new DeliveryRefused(`${NO_SMTPUTF8}: ${message}`);
}

function isServerAway(
  { code, command, responseCode }: NodemailerFailure,
  { recipient, hasBegun }: FailedMail,
): boolean {
  if (!hasBegun && CONNECTION_CODES.has(code)) return true;
  if (LOGIN_ANSWERS.has(responseCode)) return true;
  // It does not take mails from our own address, so none at all; unless the recipient is what makes the command special.
  return command === 'MAIL FROM' && isFinal({ responseCode }) && !needsSmtpUtf8(recipient);
}

function isFinal({ code, command, responseCode }: NodemailerFailure): boolean {
  if (code === 'EENVELOPE' && command === 'API') return true;
  return typeof responseCode === 'number' && FINAL.test(String(responseCode)) && responseCode !== BAD_SEQUENCE;
}
