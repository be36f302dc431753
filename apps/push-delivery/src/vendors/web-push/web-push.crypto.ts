import {
  createCipheriv,
  createECDH,
  createHmac,
  createPrivateKey,
  type ECDH,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { SignJWT } from 'jose';

// Message encryption of RFC 8291 in one record of RFC 8188, and voluntary identification (VAPID) of RFC 8292.

const CURVE = 'prime256v1';
const RECORD_BYTES = 4_096;
/** Key, salt, sizes, padding delimiter and tag take the rest of a record. */
export const MAX_TEXT_BYTES = 3_993;
const SALT_BYTES = 16;
const AUTH_BYTES = 16;
const POINT_BYTES = 65;
const PRIVATE_KEY_BYTES = 32;
const LAST_RECORD = Buffer.of(2);
const CONTENT_KEY_INFO = Buffer.from('Content-Encoding: aes128gcm\0');
const NONCE_INFO = Buffer.from('Content-Encoding: nonce\0');
const FIRST_BLOCK = Buffer.of(1);

export interface SubscriptionKeys {
  readonly p256dh: string;
  readonly auth: string;
}

export function areSubscriptionKeys(keys: SubscriptionKeys): boolean {
  return agree(freshKey(), keys) !== undefined;
}

/** Such an object takes OpenSSL longer than a key pair: one serves all messages, each with its own key pair. */
const messageKey = createECDH(CURVE);

/** @param own for the test vector of RFC 8291 @returns undefined for keys that `areSubscriptionKeys` refuses */
export function encrypt(
  text: string,
  keys: SubscriptionKeys,
  own?: { readonly ecdh: ECDH; readonly salt: Buffer },
): Buffer | undefined {
  const ours = own === undefined ? messageKey.generateKeys() : own.ecdh.getPublicKey();
  const { ecdh, salt } = own ?? { ecdh: messageKey, salt: randomBytes(SALT_BYTES) };
  const agreed = agree(ecdh, keys);
  if (agreed === undefined) return undefined;
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), agreed.theirs, ours]);
  const shared = hmac(salt, expand(hmac(agreed.auth, agreed.secret), info, 32));
  const key = expand(shared, CONTENT_KEY_INFO, 16);
  const cipher = createCipheriv('aes-128-gcm', key, expand(shared, NONCE_INFO, 12));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(RECORD_BYTES);
  head[4] = ours.length;
  const sealed = [cipher.update(text, 'utf8'), cipher.update(LAST_RECORD), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([salt, head, ours, ...sealed]);
}

interface Agreement {
  readonly theirs: Buffer;
  readonly auth: Buffer;
  readonly secret: Buffer;
}

function agree(ecdh: ECDH, { p256dh, auth: authText }: SubscriptionKeys): Agreement | undefined {
  const [theirs, auth] = [Buffer.from(p256dh, 'base64url'), Buffer.from(authText, 'base64url')];
  if (theirs.length !== POINT_BYTES || auth.length !== AUTH_BYTES) return undefined;
  try {
    return { theirs, auth, secret: ecdh.computeSecret(theirs) };
  } catch {
    return undefined;
  }
}

/** HKDF-Expand of RFC 5869 for up to 32 bytes. Node's hkdf would also extract again for each key. */
function expand(pseudorandomKey: Buffer, info: Buffer, bytes: number): Buffer {
  return hmac(pseudorandomKey, Buffer.concat([info, FIRST_BLOCK])).subarray(0, bytes);
}

function hmac(key: Buffer, data: Buffer): Buffer {
  return createHmac('sha256', key).update(data).digest();
}

function freshKey(): ECDH {
  const ecdh = createECDH(CURVE);
  ecdh.generateKeys();
  return ecdh;
}

/** Base64url; browsers bind subscriptions to the public key. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

export function newVapidKeys(): VapidKeys {
  const ecdh = freshKey();
  return { publicKey: ecdh.getPublicKey('base64url'), privateKey: ecdh.getPrivateKey('base64url') };
}

/** @returns undefined for a text that is not a private key of the curve */
export function publicKeyOf(privateKey: string): string | undefined {
  const bytes = Buffer.from(privateKey, 'base64url');
  if (bytes.length !== PRIVATE_KEY_BYTES) return undefined;
  try {
    const ecdh = createECDH(CURVE);
    ecdh.setPrivateKey(bytes);
    return ecdh.getPublicKey('base64url');
  } catch {
    return undefined;
  }
}

export function signingKeyOf({ publicKey, privateKey }: VapidKeys): KeyObject {
  const point = Buffer.from(publicKey, 'base64url');
  const half = (POINT_BYTES - 1) / 2;
  const [x, y] = [point.subarray(1, 1 + half), point.subarray(1 + half)].map((part) => part.toString('base64url'));
  return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', d: privateKey, x: x ?? '', y: y ?? '' } });
}

export function vapidToken(
  key: KeyObject,
  { origin, subject, expiresAt }: { readonly origin: string; readonly subject: string; readonly expiresAt: Date },
): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
    .setAudience(origin)
    .setSubject(subject)
    .setExpirationTime(expiresAt)
    .sign(key);
}
