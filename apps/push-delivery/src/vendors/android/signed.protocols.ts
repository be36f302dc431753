import { createHash, randomUUID } from 'node:crypto';
import type { JsonObject, VendorCredentials } from '#contracts';
import { codeOf, cut, merged, objectOr, type Outcome, textOr, textsIn } from '../vendor-channel.rules.js';
import {
  type AndroidMessage,
  type AndroidProtocol,
  type AndroidSend,
  byStatus,
  forAll,
  laterFor,
  type VendorAnswer,
} from './android.channel.js';

// OPPO, vivo and Meizu sign requests with a hash. Facts: open.oppomobile.com 11236 to 11239, dev.vivo.com.cn 362 and open-wiki.flyme.cn,
// as public clients quote them (2024).

const DAY_SECONDS = 86_400;

function refusalOf({ isSilent, text }: AndroidMessage): string | undefined {
  if (isSilent) return 'silent messages are not carried';
  return text === '' ? 'a message without text is not carried' : undefined;
}

const OPPO_TOKENS = 1_000;
const OPPO_MAX_TITLE = 50;
const OPPO_SHORT_TEXT = 50;
const OPPO_LONG_TEXT = 128;
const OPPO_LONG_STYLE = 2;
const OPPO_MAX_TTL_SECONDS = 864_000;
const OPPO_SIGN_IN_AGAIN = '11';
const OPPO_INVALID = '10000';
const OPPO_LATER = new Set(['-1', '-2', '13']);
const OPPO_CREDENTIALS = new Set(['12', '14', '15', '16', '17', '18', '19']);

/** OPPO Push, for OnePlus and realme too. */
export function oppoProtocol(
  { appKey, masterSecret, channelId }: VendorCredentials<'oppo'>,
  url: string,
): AndroidProtocol {
  return {
    block: 'oppo',
    tokensPerRequest: OPPO_TOKENS,
    refuses: refusalOf,
    signIn: {
      call: (now) => {
        const timestamp = String(now.getTime());
        const sign = hash('sha256', `${appKey}${timestamp}${masterSecret}`);
        return { url: `${url}/server/v1/auth`, form: { app_key: appKey, timestamp, sign } };
      },
      tokenOf: ({ body }) => accessToken(codeOf(body['code']) === '0', objectOr(body['data'])['auth_token']),
    },
    send: async ({ message, tokens, accessToken: token }, call) => {
      const messages = oppoMessages(tokens, oppoNotification(message, channelId));
      const answer = await call({
        url: `${url}/server/v1/message/notification/unicast_batch`,
        form: `auth_token=${encodeURIComponent(token)}&messages=${messages}`,
      });
      return oppoOutcomes(answer, tokens);
    },
  };
}

/** The notification, the largest part, is encoded once for all devices. */
function oppoMessages(tokens: readonly string[], notification: JsonObject): string {
  const start = encodeURIComponent('{"target_type":2,"target_value":');
  const end = encodeURIComponent(`,"verify_registration_id":false,"notification":${JSON.stringify(notification)}}`);
  const messages = tokens.map((token) => start + encodeURIComponent(JSON.stringify(token)) + end);
  return encodeURIComponent('[') + messages.join(encodeURIComponent(',')) + encodeURIComponent(']');
}

function oppoNotification(message: AndroidMessage, channelId: string | undefined): JsonObject {
  const { title, text, custom, pushId, notifyId, seconds, block } = message;
  const channel = message.channel ?? channelId;
  const { alert: _alert, ...own } = block;
  const style = own['style'] ?? (text.length > OPPO_SHORT_TEXT ? OPPO_LONG_STYLE : 1);
  const base = {
    app_message_id: pushId,
    notify_id: notifyId,
    click_action_type: 0,
    action_parameters: JSON.stringify(custom),
    off_line: true,
    off_line_ttl: Math.min(seconds, OPPO_MAX_TTL_SECONDS),
    ...(channel === undefined ? {} : { channel_id: channel }),
  };
  const content = cut(text, style === OPPO_LONG_STYLE ? OPPO_LONG_TEXT : OPPO_SHORT_TEXT);
  return { ...merged(base, own), style, title: cut(title, OPPO_MAX_TITLE), content };
}

function oppoOutcomes(answer: VendorAnswer, tokens: readonly string[]): Outcome[] | 'signIn' {
  const code = codeOf(answer.body['code']);
  if (code === OPPO_SIGN_IN_AGAIN) return 'signIn';
  const { data } = answer.body;
  if (code !== '0' || !Array.isArray(data)) return forAll(tokens, oppoOutcome(answer, code));
  const codes = new Map(data.map(objectOr).map((one) => [one['registrationId'], codeOf(one['errorCode'] ?? 0)]));
  return tokens.map((token) => oppoOutcome(answer, codes.get(token) ?? '0'));
}

function oppoOutcome(answer: VendorAnswer, code: string): Outcome {
  const reason = `code ${code}`;
  if (code === '0') return { kind: 'accepted' };
  if (code === OPPO_INVALID) return { kind: 'invalid', reason, isDoubtful: true };
  if (OPPO_LATER.has(code)) return laterFor(answer, reason);
  return OPPO_CREDENTIALS.has(code) ? { kind: 'credentials', reason } : byStatus(answer, code);
}

const VIVO_TOKENS = 1_000;
const VIVO_MAX_TITLE = 40;
const VIVO_MAX_TEXT = 100;
const VIVO_MAX_MAP = 1_024;
const VIVO_TTL_SECONDS = { least: 60, most: DAY_SECONDS };
const VIVO_SIGN_IN_AGAIN = '10000';
const VIVO_INVALID = new Set(['10302', '10054']);
const VIVO_LATER = new Set(['10072', '10252', '10040']);
const VIVO_DAY_LIMITS = new Set(['10070', '10071', '10073']);
/** vivo's pages name no code for a request id that it has seen: the description does. */
const REPEATED_ID = /request ?id/i;
const VIVO_NOT_A_TESTER = 4;

export function vivoProtocol(
  { appId, appKey, appSecret, category }: VendorCredentials<'vivo'>,
  url: string,
): AndroidProtocol {
  return {
    block: 'vivo',
    tokensPerRequest: VIVO_TOKENS,
    refuses: refusalOf,
    signIn: {
      call: (now) => {
        const timestamp = now.getTime();
        const sign = hash('md5', `${appId}${appKey}${timestamp}${appSecret}`);
        return { url: `${url}/message/auth`, json: { appId, appKey, timestamp, sign } };
      },
      tokenOf: ({ body }) => accessToken(codeOf(body['result']) === '0', body['authToken']),
    },
    send: (send, call) => {
      const message = vivoMessage(send, appId, category);
      const vivo = (path: string, json: JsonObject) =>
        call({ url: `${url}/message/${path}`, headers: { authToken: send.accessToken }, json });
      return send.tokens.length === 1 ? vivoSendToOne(send, message, vivo) : vivoSendToList(send, message, appId, vivo);
    },
  };
}

type VivoCall = (path: string, json: JsonObject) => Promise<VendorAnswer>;

async function vivoSendToOne(send: AndroidSend, message: JsonObject, call: VivoCall): Promise<Outcome[] | 'signIn'> {
  const answer = await call('send', { ...message, requestId: vivoRequestId(send), regId: send.tokens[0] ?? '' });
  return vivoOutcomes(answer, send, [answer.body['invalidUser']]);
}

async function vivoSendToList(
  send: AndroidSend,
  message: JsonObject,
  appId: string,
  call: VivoCall,
): Promise<Outcome[] | 'signIn'> {
  // A stored message reaches no device: its id may be new each time.
  const stored = await call('saveListPayload', { ...message, requestId: randomUUID() });
  const taskId = stored.body['taskId'];
  if (codeOf(stored.body['result']) !== '0' || taskId === undefined)
    return vivoOutcomes(stored, { ...send, isRepeat: false }, []);
  const list = { appId, regIds: [...send.tokens], taskId, requestId: vivoRequestId(send) };
  const answer = await call('pushToList', list);
  const { invalidUsers } = answer.body;
  return vivoOutcomes(answer, send, Array.isArray(invalidUsers) ? invalidUsers : []);
}

/** vivo refuses a known request id: after a crash or a lost answer, the same id keeps a device from getting the message twice. */
function vivoRequestId({ message, tokens, keyNo }: AndroidSend): string {
  return hash('sha256', [message.pushId, keyNo, ...tokens].join(' '));
}

function vivoMessage({ message }: AndroidSend, appId: string, category: string | undefined): JsonObject {
  const { title, text, custom, notifyId, seconds, block } = message;
  const { alert: _alert, requestId: _id, ...own } = block;
  const map = { payload: JSON.stringify(custom) };
  const base = {
    appId,
    notifyType: 4,
    timeToLive: Math.min(VIVO_TTL_SECONDS.most, Math.max(VIVO_TTL_SECONDS.least, seconds)),
    skipType: 1,
    networkType: -1,
    classification: category === undefined ? 0 : 1,
    ...(category === undefined ? {} : { category }),
    notifyId: Math.max(1, notifyId),
    ...(JSON.stringify(map).length > VIVO_MAX_MAP ? {} : { clientCustomMap: map }),
  };
  return { ...merged(base, own), title: cut(title, VIVO_MAX_TITLE, true), content: cut(text, VIVO_MAX_TEXT, true) };
}

function vivoOutcomes(
  answer: VendorAnswer,
  { tokens, isRepeat }: AndroidSend,
  invalidUsers: readonly (JsonObject[string] | undefined)[],
): Outcome[] | 'signIn' {
  const code = codeOf(answer.body['result']);
  const reason = `code ${code}`;
  if (code === VIVO_SIGN_IN_AGAIN) return 'signIn';
  if (VIVO_INVALID.has(code)) return forAll(tokens, { kind: 'invalid', reason, isDoubtful: true });
  if (VIVO_LATER.has(code)) return forAll(tokens, laterFor(answer, reason));
  if (VIVO_DAY_LIMITS.has(code)) return forAll(tokens, { kind: 'rejected', reason: 'the limit of the day' });
  if (code !== '0' && isRepeat && REPEATED_ID.test(textOr(answer.body['desc'], '')))
    return forAll(tokens, { kind: 'accepted' });
  if (code !== '0') return forAll(tokens, byStatus(answer, code));
  const states = new Map(invalidUsers.map(objectOr).map(({ userid, status }) => [userid, Number(status)]));
  return tokens.map((token): Outcome => {
    const state = states.get(token);
    if (state === undefined) return { kind: 'accepted' };
    if (state === VIVO_NOT_A_TESTER) return { kind: 'rejected', reason: 'not a device for tests' };
    return { kind: 'invalid', reason: `user status ${codeOf(state)}`, isDoubtful: true };
  });
}

const MEIZU_TOKENS = 1_000;
const MEIZU_MAX_TITLE = 32;
const MEIZU_MAX_TEXT = 100;
const MEIZU_MAX_HOURS = 72;
const MEIZU_INVALID = new Set(['110002', '110003']);
const MEIZU_LATER = new Set(['500', '1001', '1003', '110010']);
const MEIZU_CREDENTIALS = new Set(['1006', '110000', '110001', '110004']);

/** Meizu's push service. It answers over HTTP without TLS only. */
export function meizuProtocol({ appId, appSecret }: VendorCredentials<'meizu'>, url: string): AndroidProtocol {
  return {
    block: 'mz',
    tokensPerRequest: MEIZU_TOKENS,
    refuses: refusalOf,
    send: async ({ message, tokens }, call) => {
      const form = { appId, pushIds: tokens.join(','), messageJson: JSON.stringify(meizuMessage(message)) };
      const pairs = Object.entries(form).map(([name, value]) => `${name}=${value}`);
      const sign = hash('md5', `${pairs.sort().join('')}${appSecret}`);
      const path = '/garcia/api/server/push/varnished/pushByPushId';
      const answer = await call({ url: `${url}${path}`, form: { ...form, sign } });
      return meizuOutcomes(answer, tokens);
    },
  };
}

function meizuMessage({ title, text, payload, seconds, block }: AndroidMessage): JsonObject {
  const { alert: _alert, title: _title, ...own } = block;
  const noticeBarInfo = { title: cut(title, MEIZU_MAX_TITLE), content: cut(text, MEIZU_MAX_TEXT) };
  const base = {
    clickTypeInfo: { clickType: 3, customAttribute: payload },
    pushTimeInfo: { offLine: 1, validTime: Math.min(MEIZU_MAX_HOURS, Math.ceil(seconds / 3_600)) },
  };
  return merged(merged(base, own), { noticeBarInfo });
}

function meizuOutcomes(answer: VendorAnswer, tokens: readonly string[]): Outcome[] {
  const code = codeOf(answer.body['code']);
  const reason = `code ${code}`;
  if (MEIZU_LATER.has(code)) return forAll(tokens, laterFor(answer, reason));
  if (MEIZU_CREDENTIALS.has(code)) return forAll(tokens, { kind: 'credentials', reason });
  if (code !== '200') return forAll(tokens, byStatus(answer, code));
  const invalid = meizuInvalid(objectOr(answer.body['value']));
  return tokens.map((token) => {
    const bad = invalid.get(token);
    return bad === undefined ? { kind: 'accepted' } : { kind: 'invalid', reason: `code ${bad}`, isDoubtful: true };
  });
}

/** Meizu names bad tokens as `{token: code}` or as `{code: [tokens]}`. */
function meizuInvalid(value: JsonObject): ReadonlyMap<string, string> {
  const pairs = Object.entries(value).flatMap(([name, given]): [token: string, code: string][] => {
    if (MEIZU_INVALID.has(name)) return textsIn(given).map((token) => [token, name]);
    return MEIZU_INVALID.has(codeOf(given)) ? [[name, codeOf(given)]] : [];
  });
  return new Map(pairs);
}

function accessToken(isAccepted: boolean, token: JsonObject[string] | undefined) {
  return isAccepted && typeof token === 'string' ? { token, seconds: DAY_SECONDS } : undefined;
}

function hash(algorithm: 'md5' | 'sha256', text: string): string {
  return createHash(algorithm).update(text).digest('hex');
}
