import { createHash } from 'node:crypto';
import type { JsonObject, VendorCredentials } from '#contracts';
import { isJsonObject } from '#objects';
import { codeOf, cut, merged, objectIn, objectOr, type Outcome, textOr, textsIn } from '../vendor-channel.rules.js';
import {
  acceptedBut,
  type AndroidMessage,
  type AndroidProtocol,
  byStatus,
  clickIntent,
  forAll,
  laterFor,
  type VendorAnswer,
} from './android.channel.js';

// Huawei, Honor and Xiaomi read a token or a key from the header `authorization`. Facts: Huawei, HMSCore-References
// "https-send-api" (2024-03); Honor, the comments of its page in public clients (2024-10), without an official table of
// codes: unknown ones are rejected under their number; Xiaomi, dev.mi.com pId=1559 (interface) and 1560 (codes, 2024-10-18).

const MAX_TTL_SECONDS = 1_296_000;
const INTENT_HOST = 'cn.leancloud.push';
const TOKENS = 1_000;

const ACCEPTED = '80000000';
const SOME_ACCEPTED = '80100000';
const ALL_INVALID = '80300007';
const SIGN_IN_AGAIN = new Set(['80200001', '80200003', '80200005']);
const NO_PERMISSION = '80300002';
const LATER = new Set(['80600003', '81000001']);

export function huaweiProtocol(
  { appId, appSecret, intentHost = INTENT_HOST, category }: VendorCredentials<'huawei'>,
  urls: { readonly push: string; readonly token: string },
): AndroidProtocol {
  return {
    block: 'hms',
    tokensPerRequest: TOKENS,
    signIn: signIn(`${urls.token}/oauth2/v3/token`, appId, appSecret),
    send: async ({ message, tokens, accessToken }, call) => {
      const answer = await call({
        url: `${urls.push}/v1/${appId}/messages:send`,
        headers: { authorization: `Bearer ${accessToken}` },
        json: { validate_only: false, message: huaweiMessage(message, { tokens, intentHost, category }) },
      });
      return outcomesOf(answer, tokens, codeOf(answer.body['code']), illegalTokens(answer));
    },
  };
}

interface Addressed {
  readonly tokens: readonly string[];
  readonly intentHost: string;
  readonly category: string | undefined;
}

function huaweiMessage(message: AndroidMessage, { tokens, intentHost, category }: Addressed): JsonObject {
  const { block, title, text, pushId, payload } = message;
  const token = [...tokens];
  const ttl = ttlOf(message);
  const { message: native, target_user_type: userType, alert: _alert, title: _title, ...own } = block;
  if (native !== undefined) return { ...nativeMessage(objectOr(native), ttl, pushId), token };
  const base = {
    ttl,
    ...(category === undefined ? {} : { category }),
    ...(userType === undefined ? {} : { target_user_type: userType }),
  };
  if (isDataMessage(message)) return { ...merged({ data: payload, android: base }, own), token };
  const click = { type: 1, intent: clickIntent(intentHost, message.custom) };
  const channel = message.channel === undefined ? {} : { channel_id: message.channel };
  const notification = { tag: pushId, click_action: click, ...channel };
  return { ...merged({ notification: { title, body: text }, android: { ...base, notification } }, own), token };
}

/** For Huawei, a message without either notification is a data message. */
function nativeMessage(native: JsonObject, ttl: string, tag: string): JsonObject {
  const isShown = [native, objectOr(native['android'])].some((part) => isJsonObject(part['notification']));
  return merged({ android: { ttl, ...(isShown ? { notification: { tag } } : {}) } }, native);
}

export function honorProtocol(
  { appId, clientId, clientSecret, intentHost = INTENT_HOST }: VendorCredentials<'honor'>,
  urls: { readonly push: string; readonly token: string },
): AndroidProtocol {
  return {
    block: 'honor',
    tokensPerRequest: TOKENS,
    signIn: signIn(`${urls.token}/auth/token`, clientId, clientSecret),
    send: async ({ message, tokens, accessToken, now }, call) => {
      const answer = await call({
        url: `${urls.push}/api/v1/${appId}/sendMessage`,
        headers: { authorization: `Bearer ${accessToken}`, timestamp: String(now.getTime()) },
        json: honorMessage(message, tokens, intentHost),
      });
      const data = objectOr(answer.body['data']);
      const code = codeOf(answer.body['code']);
      const isAccepted = code === '200' || data['sendResult'] === true;
      const failed = new Set(textsIn(data['failTokens']));
      const outcomes = outcomesOf(answer, tokens, isAccepted ? ACCEPTED : code, textsIn(data['expireTokens']));
      if (outcomes === 'signIn' || answer.status === 401) return 'signIn';
      return outcomes.map((outcome, place) =>
        failed.has(tokens[place] ?? '') ? { kind: 'rejected', reason: 'failTokens' } : outcome,
      );
    },
  };
}

function honorMessage(message: AndroidMessage, tokens: readonly string[], intentHost: string): JsonObject {
  const { block, title, text, pushId, payload } = message;
  const { targetUserType, alert: _alert, title: _title, ...own } = block;
  const base = { ttl: ttlOf(message), ...(targetUserType === undefined ? {} : { targetUserType }) };
  const token = [...tokens];
  if (isDataMessage(message)) return { ...merged({ data: payload, android: base }, own), token };
  const clickAction = { type: 1, intent: clickIntent(intentHost, message.custom) };
  const notification = { importance: 'NORMAL', tag: pushId, clickAction };
  return { ...merged({ notification: { title, body: text }, android: { ...base, notification } }, own), token };
}

function signIn(url: string, clientId: string, secret: string): NonNullable<AndroidProtocol['signIn']> {
  return {
    call: () => ({ url, form: { grant_type: 'client_credentials', client_id: clientId, client_secret: secret } }),
    tokenOf: ({ body: { access_token: token, expires_in: seconds } }) =>
      typeof token === 'string' ? { token, seconds: typeof seconds === 'number' ? seconds : 3_600 } : undefined,
  };
}

function isDataMessage({ isSilent, text }: AndroidMessage): boolean {
  return isSilent || text === '';
}

function ttlOf({ seconds }: AndroidMessage): string {
  return `${Math.min(seconds, MAX_TTL_SECONDS)}s`;
}

/** The message of a partial success is a JSON text. */
function illegalTokens({ body }: VendorAnswer): string[] {
  return textsIn(objectIn(textOr(body['msg'], ''))['illegal_tokens']);
}

function outcomesOf(
  answer: VendorAnswer,
  tokens: readonly string[],
  code: string,
  invalid: readonly string[],
): Outcome[] | 'signIn' {
  const reason = `code ${code}`;
  if (code === ACCEPTED || code === SOME_ACCEPTED) return acceptedBut(tokens, invalid, 'illegal token');
  if (code === ALL_INVALID) return forAll(tokens, { kind: 'invalid', reason, isDoubtful: true });
  if (SIGN_IN_AGAIN.has(code)) return 'signIn';
  if (code === NO_PERMISSION) return forAll(tokens, { kind: 'credentials', reason });
  if (LATER.has(code)) return forAll(tokens, laterFor(answer, reason));
  return forAll(tokens, byStatus(answer, code));
}

const MAX_TITLE = 49;
const MAX_TEXT = 127;
const MAX_TTL_MS = 14 * 86_400_000;
const JOB_KEY_LENGTH = 20;
const FIELDS = ['pass_through', 'notify_type', 'notify_id', 'time_to_live', 'time_to_send', 'payload'];

const XIAOMI_ALL_INVALID = '20301';
const XIAOMI_LATER = new Set([
  '10001',
  '10002',
  '10003',
  '10009',
  '10010',
  '10011',
  '10022',
  '10023',
  '10024',
  '10027',
  '10028',
  '10037',
]);
const XIAOMI_CREDENTIALS = new Set(['21301', '22000', '22001', '22002', '22006', '22007', '22008', '22022']);
const NONE_LEFT = '10035';
/** Nothing more is accepted before midnight in Beijing. */
const DAY_LIMITS = new Set(['10034', '200001']);

const URLS: ReadonlyMap<string, string> = new Map([
  ['cn', 'https://api.xmpush.xiaomi.com'],
  ['global', 'https://api.xmpush.global.xiaomi.com'],
  ['ru', 'https://ru-api.xmpush.global.xiaomi.com'],
  ['in', 'https://idmb-api.xmpush.global.xiaomi.com'],
  ['eu', 'https://fr-api.xmpush.global.xiaomi.com'],
]);

const FEEDBACK_URLS = {
  china: 'https://feedback.xmpush.xiaomi.com',
  abroad: 'https://feedback.xmpush.global.xiaomi.com',
};

/** @param replaced empty: the hosts of the region */
export function xiaomiProtocol(
  { appSecret, packageName, channelId, region = 'cn' }: VendorCredentials<'xiaomi'>,
  replaced: { readonly push: string; readonly feedback: string },
): AndroidProtocol {
  const url = replaced.push === '' ? (URLS.get(region) ?? '') : replaced.push;
  const feedbackUrl =
    replaced.feedback === '' ? FEEDBACK_URLS[region === 'cn' ? 'china' : 'abroad'] : replaced.feedback;
  const headers = { authorization: `key=${appSecret}` };
  return {
    block: 'mi',
    tokensPerRequest: TOKENS,
    send: async ({ message, tokens }, call) => {
      const answer = await call({
        url: `${url}/v3/message/regid`,
        headers,
        form: {
          registration_id: tokens.join(','),
          restricted_package_name: packageName,
          ...form(message, channelId),
        },
      });
      const code = codeOf(answer.body['code']);
      const reason = `code ${code}`;
      if (code === '0') return acceptedBut(tokens, badTokens(objectOr(answer.body['data'])), 'bad_regids');
      if (code === XIAOMI_ALL_INVALID) return forAll(tokens, { kind: 'invalid', reason, isDoubtful: true });
      if (XIAOMI_CREDENTIALS.has(code)) return forAll(tokens, { kind: 'credentials', reason });
      if (XIAOMI_LATER.has(code)) return forAll(tokens, laterFor(answer, reason));
      if (DAY_LIMITS.has(code)) return forAll(tokens, { kind: 'rejected', reason: 'the limit of the day' });
      return forAll(tokens, byStatus(answer, code));
    },
    invalidTokens: async (call) => {
      const { body } = await call({ url: `${feedbackUrl}/v1/feedback/fetch_invalid_regids`, method: 'GET', headers });
      const code = codeOf(body['code']);
      if (code === NONE_LEFT) return [];
      if (code !== '0') throw new Error(`Xiaomi answers code ${code}`);
      return textsIn(objectOr(body['data'])['list']);
    },
  };
}

function form(message: AndroidMessage, channelId: string | undefined): Record<string, string> {
  const { title, text, payload, seconds, notifyId, pushId, block } = message;
  const isData = isDataMessage(message);
  const channel = message.channel ?? channelId;
  const extras = {
    jobkey: createHash('sha256').update(pushId).digest('hex').slice(0, JOB_KEY_LENGTH),
    ...(channel === undefined ? {} : { channel_id: channel }),
    ...objectOr(block['extra']),
  };
  return {
    pass_through: isData ? '1' : '0',
    ...(isData ? {} : { title: cut(title, MAX_TITLE), description: cut(text, MAX_TEXT), notify_type: '-1' }),
    payload,
    time_to_live: String(Math.min(seconds * 1_000, MAX_TTL_MS)),
    notify_id: String(notifyId),
    ...fieldsOf(block, FIELDS, ''),
    ...fieldsOf(extras, Object.keys(extras), 'extra.'),
  };
}

function fieldsOf(from: JsonObject, names: readonly string[], prefix: string): Record<string, string> {
  const given = names.flatMap((name): [string, string][] => {
    const value = from[name];
    if (value === undefined) return [];
    return [[`${prefix}${name}`, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
  return Object.fromEntries(given);
}

/** A text with commas, under two spellings. */
function badTokens(data: JsonObject): string[] {
  const listed = data['bad_regids'] ?? data['bad_regIds'];
  return typeof listed === 'string' ? listed.split(',') : [];
}
