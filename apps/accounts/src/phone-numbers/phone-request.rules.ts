import {
  type JsonObject,
  type JsonValue,
  MAX_CODE_TTL_MINUTES,
  type TextMessageOptions,
  textMessageOptions,
} from '#contracts';
import { appError } from '#errors';
import { isAbsent, parsePhoneNumber, type UserChanges } from '#objects';
import { parseEntryFields } from '../users/user.rules.js';

/** ASCII digits only, as codes are generated. */
const CODE = /^[0-9]{6}$/;
const CODE_LENGTH = 6;
/** Members of a body that are not variables of the message's template. */
const NO_VARIABLES = new Set([
  'mobilePhoneNumber',
  'name',
  'op',
  'sign',
  'smsType',
  'template',
  'ttl',
  'validate_token',
  'variables',
]);

export function requirePhoneNumber(body: JsonObject): string {
  const number = findPhoneNumber(body);
  if (number === undefined) throw appError('PHONE_MISSING');
  return number;
}

export function findPhoneNumber({ mobilePhoneNumber }: JsonObject): string | undefined {
  return isAbsent(mobilePhoneNumber) ? undefined : parsePhoneNumber(mobilePhoneNumber);
}

/** Apps also send the code as a number, which loses leading zeros. @throws AppError INVALID_SMS_CODE where the format is wrong */
export function parseSmsCode(value: JsonValue | undefined): string {
  const code = typeof value === 'number' ? String(value).padStart(CODE_LENGTH, '0') : value;
  if (typeof code !== 'string' || !CODE.test(code)) throw appError('INVALID_SMS_CODE');
  return code;
}

export function parsePhoneSignUp(body: JsonObject, mobilePhoneNumber: string, isMaster: boolean): UserChanges {
  const { smsCode: _, ...fields } = body;
  return { ...parseEntryFields({ ...fields, mobilePhoneNumber }, isMaster), mobilePhoneVerified: true };
}

/** A longer lifetime than possible is shortened: the SDKs for C# and Flutter send 360 minutes. @throws AppError INCORRECT_TYPE */
export function parseTtlMinutes({ ttl }: JsonObject, byDefault: number): number {
  if (ttl === undefined || ttl === null) return byDefault;
  const minutes = typeof ttl === 'string' && /^\d{1,9}$/.test(ttl) ? Number(ttl) : ttl;
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 1)
    throw incorrect('ttl: must be a whole number of minutes from 1.');
  return Math.min(minutes, MAX_CODE_TTL_MINUTES);
}

export function parseMessageOptions(body: JsonObject): TextMessageOptions {
  const { name, op, sign, smsType, template } = body;
  const variables = Object.entries(body).filter(([key, value]) => !NO_VARIABLES.has(key) && !isAbsent(value));
  const given = { name, op, sign, template, smsType: smsType ?? 'sms' };
  const parsed = textMessageOptions.safeParse({
    ...Object.fromEntries(Object.entries(given).filter(([name, value]) => name === 'smsType' || !isAbsent(value))),
    ...(variables.length === 0 ? {} : { variables: Object.fromEntries(variables.map(asText)) }),
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw incorrect(`${String(issue?.path.at(-1))}: ${issue?.message ?? 'invalid value'}.`);
}

/** Templates take text; numbers and booleans of clients are converted. */
function asText([key, value]: [string, JsonValue]): [string, JsonValue] {
  return [key, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value];
}

function incorrect(message: string): Error {
  return appError('INCORRECT_TYPE', { message });
}
