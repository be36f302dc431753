import { createHash } from 'node:crypto';
import type { JsonObject, VendorCredentials } from '#contracts';
import {
  acceptedBut,
  type AndroidMessage,
  type AndroidProtocol,
  byStatus,
  forAll,
  laterFor,
} from './android.channel.js';
import { codeOf, cut, objectOr, textsIn } from '../vendor-json.rules.js';

// Facts: Xiaomi, dev.mi.com pId=1559 (interface) and 1560 (codes, 2024-10-18).

const TOKENS = 1_000;
const MAX_TITLE = 49;
const MAX_TEXT = 127;
const MAX_TTL_MS = 14 * 86_400_000;
const JOB_KEY_LENGTH = 20;
const FIELDS = ['pass_through', 'notify_type', 'notify_id', 'time_to_live', 'time_to_send', 'payload'];

const ALL_INVALID = '20301';
const LATER = new Set(['10001', '10002', '10003', '10027', '10037']);
const CREDENTIALS = '21301';
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
    blocks: ['mi'],
    tokensPerRequest: TOKENS,
    send: async ({ message, tokens }, call) => {
      const answer = await call({
        url: `${url}/v3/message/regid`,
        headers,
        form: { registration_id: tokens.join(','), restricted_package_name: packageName, ...form(message, channelId) },
      });
      const code = codeOf(answer.body['code']);
      const reason = `code ${code}`;
      if (code === '0') return acceptedBut(tokens, badTokens(objectOr(answer.body['data'])), 'bad_regids');
      if (code === ALL_INVALID) return forAll(tokens, { kind: 'invalid', reason, isDoubtful: true });
      if (code === CREDENTIALS) return forAll(tokens, { kind: 'credentials', reason });
      if (LATER.has(code)) return forAll(tokens, laterFor(answer, reason));
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
  const { title, text, payload, isSilent, seconds, notifyId, pushId, block } = message;
  const channel = message.channel ?? channelId;
  const extras = {
    jobkey: createHash('sha256').update(pushId).digest('hex').slice(0, JOB_KEY_LENGTH),
    ...(channel === undefined ? {} : { channel_id: channel }),
    ...objectOr(block['extra']),
  };
  return {
    pass_through: isSilent ? '1' : '0',
    ...(isSilent ? {} : { title: cut(title, MAX_TITLE), description: cut(text, MAX_TEXT), notify_type: '-1' }),
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
