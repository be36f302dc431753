import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Application } from '#contracts';

interface Credentials {
  readonly appId: string;
  readonly key?: string | undefined;
  readonly masterKey?: string | undefined;
  readonly sign?: string | undefined;
}

export type Signature = 'app' | 'master';

/** All names of each header, the modern one first (docs/api.md, Application credentials). */
const APP_ID_HEADERS = ['x-lc-id', 'x-avoscloud-application-id', 'x-uluru-application-id'];
const KEY_HEADERS = ['x-lc-key', 'x-avoscloud-application-key', 'x-uluru-application-key'];
const MASTER_KEY_HEADERS = ['x-avoscloud-master-key', 'x-uluru-master-key'];
const SIGN_HEADERS = ['x-lc-sign', 'x-avoscloud-request-sign'];
const SESSION_HEADERS = ['x-lc-session', 'x-avoscloud-session-token', 'x-uluru-session-token'];
const PRODUCTION_HEADERS = ['x-lc-prod', 'x-avoscloud-application-production', 'x-uluru-application-production'];

/** The names of all headers that contain credentials. Scripts of any origin may send them. */
export const CREDENTIAL_HEADERS: readonly string[] = [
  ...APP_ID_HEADERS,
  ...KEY_HEADERS,
  ...MASTER_KEY_HEADERS,
  ...SIGN_HEADERS,
  ...SESSION_HEADERS,
  ...PRODUCTION_HEADERS,
];

const MASTER_SUFFIX = ',master';
const APP_ID = /^[\x21-\x7e]{1,128}$/;
const SIGN = /^([0-9a-f]{32}),(\d{1,16})(,master)?$/i;
/** A longer text cannot be a session token and is ignored. */
const MAX_SESSION_TOKEN_LENGTH = 128;

export function readCredentials(headers: IncomingHttpHeaders): Credentials | undefined {
  const appId = firstOf(headers, APP_ID_HEADERS);
  if (appId === undefined || !APP_ID.test(appId)) return undefined;
  return {
    appId,
    key: firstOf(headers, KEY_HEADERS),
    masterKey: firstOf(headers, MASTER_KEY_HEADERS),
    sign: firstOf(headers, SIGN_HEADERS),
  };
}

export function readSessionToken(headers: IncomingHttpHeaders): string | undefined {
  const token = firstOf(headers, SESSION_HEADERS);
  return isSessionToken(token) ? token : undefined;
}

/** The environment of pushes: any value other than `1` means development, and none production. */
export function readEnvironment(headers: IncomingHttpHeaders): 'dev' | 'prod' {
  return (firstOf(headers, PRODUCTION_HEADERS) ?? '1') === '1' ? 'prod' : 'dev';
}

export function isSessionToken(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_SESSION_TOKEN_LENGTH;
}

/** @returns the kind of the key that the credentials prove; undefined where they are wrong */
export function verifyCredentials(
  { key, masterKey, sign }: Credentials,
  application: Application,
): Signature | undefined {
  if (masterKey !== undefined) return isOneOf(masterKey, keysOf(application, 'master')) ? 'master' : undefined;
  if (key !== undefined) return verifyKey(key, application);
  return sign === undefined ? undefined : verifySign(sign, application);
}

/** `<app key>`, or `<master key>,master`. A master key without the suffix has the rights of an app key. */
function verifyKey(key: string, application: Application): Signature | undefined {
  const masterKeys = keysOf(application, 'master');
  if (key.endsWith(MASTER_SUFFIX))
    return isOneOf(key.slice(0, -MASTER_SUFFIX.length), masterKeys) ? 'master' : undefined;
  return isOneOf(key, [...keysOf(application, 'app'), ...masterKeys]) ? 'app' : undefined;
}

/** `md5(<timestamp><key>),<timestamp>[,master]`. The API defines no maximum age of the timestamp. */
function verifySign(sign: string, application: Application): Signature | undefined {
  const [, digest, timestamp, master] = SIGN.exec(sign) ?? [];
  if (digest === undefined || timestamp === undefined) return undefined;
  const kind = master === undefined ? 'app' : 'master';
  const expected = keysOf(application, kind).map((key) =>
    createHash('md5')
      .update(timestamp + key)
      .digest('hex'),
  );
  return isOneOf(digest.toLowerCase(), expected) ? kind : undefined;
}

function keysOf({ appKey, masterKey, oldKeys }: Application, kind: Signature): string[] {
  return [kind === 'app' ? appKey : masterKey, ...oldKeys.filter((old) => old.kind === kind).map(({ key }) => key)];
}

/** Compares with every expected value, so that the time does not depend on which one matches. */
function isOneOf(given: string, expected: readonly string[]): boolean {
  return expected.map((one) => isSame(given, one)).includes(true);
}

/** Compares in constant time. The length of keys is not secret. */
function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function firstOf(headers: IncomingHttpHeaders, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}
