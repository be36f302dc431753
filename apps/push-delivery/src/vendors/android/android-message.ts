import { createHash } from 'node:crypto';
import type { JsonObject } from '#contracts';
import type { AccessToken } from '../access-tokens.js';
import { objectOr, textOr } from '../vendor-json.rules.js';
import type { Outcome, VendorPush } from '../vendor.types.js';

// Facts: LeanCloud's Java SDK (mixpush) and its guide for `data`: what the receivers in shipped apps read.

/** The part of a push that all devices of an Android vendor share. */
export interface AndroidMessage {
  readonly pushId: string;
  /** A number of 31 bits from the id: a second notification with it replaces the first. */
  readonly notifyId: number;
  /** The JSON text that devices of the own channel get. */
  readonly payload: string;
  readonly title: string;
  readonly text: string;
  /** Only the app sees the message. */
  readonly isSilent: boolean;
  /** The members that the app has added. */
  readonly custom: JsonObject;
  /** The notification channel of the app. */
  readonly channel: string | undefined;
  /** Seconds until the push expires. */
  readonly seconds: number;
  /** Members of `data` for this vendor: they go over what the server made. */
  readonly block: JsonObject;
}

/** A request to a vendor. */
export interface VendorCall {
  readonly url: string;
  /** Default: POST. */
  readonly method?: 'GET';
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is encoded already. Absent: the JSON is sent. */
  readonly form?: Readonly<Record<string, string>> | string;
  readonly json?: JsonObject;
}

/** The answer of a vendor. A body that is no JSON object is an empty one. */
export interface VendorAnswer {
  readonly status: number;
  readonly body: JsonObject;
  /** The time that `Retry-After` asks for. */
  readonly restMs?: number | undefined;
}

/** A message for some devices. */
export interface AndroidSend extends Pick<VendorPush, 'keyNo' | 'isRepeat'> {
  readonly message: AndroidMessage;
  readonly tokens: readonly string[];
  readonly accessToken: string;
  readonly now: Date;
}

/** How a vendor is asked and how it answers. It knows no time-outs, retries and connections. */
export interface AndroidProtocol {
  /** The blocks of `data` for this vendor, the last one over the others. */
  readonly blocks: readonly string[];
  readonly tokensPerRequest: number;
  /** Asks for an access token; absent where requests carry the secret themselves. */
  readonly signIn?: {
    readonly call: (now: Date) => VendorCall;
    /** @returns undefined where the vendor refuses */
    readonly tokenOf: (answer: VendorAnswer) => AccessToken | undefined;
  };
  /** The reason why the vendor cannot carry the message; undefined where it can. */
  readonly refuses?: (message: AndroidMessage) => string | undefined;
  /** @returns one outcome for each token in their order, or `signIn`: the access token is over */
  readonly send: (
    send: AndroidSend,
    call: (request: VendorCall) => Promise<VendorAnswer>,
  ) => Promise<readonly Outcome[] | 'signIn'>;
  /** The next tokens of the vendor's list of invalid ones, which it names once; absent where it keeps no list. */
  readonly invalidTokens?: (call: (request: VendorCall) => Promise<VendorAnswer>) => Promise<readonly string[]>;
}

const DEFAULT_CHANNEL_MEMBERS = new Set(['alert', 'title', 'silent', 'action', 'badge', 'sound']);
const BLOCKS = new Set(['mi', 'hms', 'honor', 'mz', 'vivo', 'oppo', 'fcm']);

export function androidMessage(
  push: VendorPush,
  { blocks, title, now }: { readonly blocks: readonly string[]; readonly title: string; readonly now: Date },
): AndroidMessage {
  const payload = push.message.bodies['android'] ?? push.message.body;
  const body = JSON.parse(payload) as JsonObject;
  const block = Object.assign({}, ...blocks.map((name) => objectOr(push.data[name]))) as JsonObject;
  const alert = block['alert'] ?? body['alert'];
  const own = objectOr(alert);
  const custom = Object.entries(body).filter(
    ([name]) => !DEFAULT_CHANNEL_MEMBERS.has(name) && !name.startsWith('_') && !BLOCKS.has(name),
  );
  return {
    pushId: push.objectId,
    notifyId: createHash('sha256').update(push.objectId).digest().readUInt32BE(0) >>> 1,
    payload,
    title: textOr(block['title'] ?? body['title'] ?? own['title'], title),
    text: textOr(alert, textOr(own['body'], '')),
    isSilent: body['silent'] === true,
    custom: Object.fromEntries(custom),
    channel: typeof body['_notificationChannel'] === 'string' ? body['_notificationChannel'] : undefined,
    seconds: Math.max(1, Math.ceil((push.expiresAt.getTime() - now.getTime()) / 1_000)),
    block,
  };
}

/** The intent that opens the app from a notification, as LeanCloud's SDK for Huawei and Honor reads it. */
export function clickIntent(host: string, custom: JsonObject): string {
  const content = encodeURIComponent(JSON.stringify(custom));
  return `intent://${host}/notify_detail?S.content=${content}#Intent;scheme=lcpushscheme;launchFlags=0x10000000;end`;
}

/** The same outcome for each token. */
export function forAll(tokens: readonly string[], outcome: Outcome): Outcome[] {
  return tokens.map(() => outcome);
}

/** Accepted, except for the tokens that the vendor lists as invalid. */
export function acceptedBut(tokens: readonly string[], listed: readonly string[], reason: string): Outcome[] {
  const invalid = new Set(listed);
  return tokens.map((token) =>
    invalid.has(token) ? { kind: 'invalid', reason, isDoubtful: true } : { kind: 'accepted' },
  );
}

/** The outcome of an answer without a code that is known, by its HTTP status. */
export function byStatus(answer: VendorAnswer, code: string): Outcome {
  const { status } = answer;
  const reason = code === '' ? `status ${status}` : `code ${code}`;
  if (status === 429 || status >= 500) return laterFor(answer, reason);
  return status === 401 || status === 403 ? { kind: 'credentials', reason } : { kind: 'rejected', reason };
}

/** The vendor asks for fewer requests, and perhaps for none for a while. */
export function laterFor({ restMs }: VendorAnswer, reason: string): Outcome {
  return { kind: 'later', reason, slowsLane: true, ...(restMs === undefined ? {} : { restMs }) };
}
