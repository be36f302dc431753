import {
  type JsonObject,
  type JsonValue,
  MAX_CODE_TTL_MINUTES,
  type TextMessageOptions,
  textMessageOptions,
} from '#contracts';
import { appError } from '#errors';
import { isAbsent, parsePhoneNumber, type UserChanges, userClass } from '#objects';

/** ASCII digits only, as codes are generated. */
const CODE = /^[0-9]{6}$/;
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

/** The number of a request, in international format. @throws AppError PHONE_MISSING, INVALID_PHONE */
export function requirePhoneNumber(body: JsonObject): string {
  const number = findPhoneNumber(body);
  if (number === undefined) throw appError('PHONE_MISSING');
  return number;
}

/** As `requirePhoneNumber`, for an optional number. @throws AppError INVALID_PHONE */
export function findPhoneNumber({ mobilePhoneNumber }: JsonObject): string | undefined {
  return isAbsent(mobilePhoneNumber) ? undefined : parsePhoneNumber(mobilePhoneNumber);
}

/** @throws AppError INVALID_SMS_CODE where the format is wrong */
export function parseSmsCode(value: JsonValue | undefined): string {
  if (typeof value !== 'string' || !CODE.test(value)) throw appError('INVALID_SMS_CODE');
  return value;
}

/** The fields of a user that signs up with a verified number. @throws AppError as `userClass.parse` */
export function parsePhoneSignUp(body: JsonObject, mobilePhoneNumber: string, isMaster: boolean): UserChanges {
  const { smsCode: _, username, password, ...others } = body;
  const fields = {
    ...others,
    mobilePhoneNumber,
    ...(isAbsent(username) ? {} : { username }),
    ...(isAbsent(password) ? {} : { password }),
  };
  return { ...userClass.parse(fields, isMaster), mobilePhoneVerified: true };
}

/** @throws AppError INCORRECT_TYPE */
export function parseTtlMinutes({ ttl }: JsonObject, byDefault: number): number {
  if (ttl === undefined || ttl === null) return byDefault;
  const isValid = typeof ttl === 'number' && Number.isInteger(ttl) && ttl >= 1 && ttl <= MAX_CODE_TTL_MINUTES;
  if (!isValid) throw incorrect(`ttl: must be a whole number from 1 to ${MAX_CODE_TTL_MINUTES}.`);
  return ttl;
}

/** The options of a request's message. @throws AppError INCORRECT_TYPE where an option is too long or not text */
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
  throw incorrect(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid value'}.`);
}

/** Templates take text; numbers and booleans of clients are converted. */
function asText([key, value]: [string, JsonValue]): [string, JsonValue] {
  return [key, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value];
}

function incorrect(message: string): Error {
  return appError('INCORRECT_TYPE', { message });
}
