import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  type ECDH,
  hkdfSync,
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

/** The keys of a subscription, as browsers give them: base64url. */
export interface SubscriptionKeys {
  readonly p256dh: string;
  readonly auth: string;
}

/** Whether the keys are a point on the curve and a secret of the right size. */
export function areSubscriptionKeys({ p256dh, auth }: SubscriptionKeys): boolean {
  const point = Buffer.from(p256dh, 'base64url');
  if (point.length !== POINT_BYTES || Buffer.from(auth, 'base64url').length !== AUTH_BYTES) return false;
  try {
    const own = createECDH(CURVE);
    own.generateKeys();
    own.computeSecret(point);
    return true;
  } catch {
    return false;
  }
}

/**
 * The body of a request to a push service.
 * @param own for the test vector of RFC 8291; by default a fresh key and salt
 * @throws Error for keys that `areSubscriptionKeys` refuses
 */
export function encrypt(
  text: string,
  keys: SubscriptionKeys,
  own: { readonly ecdh: ECDH; readonly salt: Buffer } = { ecdh: freshKey(), salt: randomBytes(SALT_BYTES) },
): Buffer {
  const { ecdh, salt } = own;
  const [theirs, ours] = [Buffer.from(keys.p256dh, 'base64url'), ecdh.getPublicKey()];
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), theirs, ours]);
  const shared = hkdf(ecdh.computeSecret(theirs), Buffer.from(keys.auth, 'base64url'), info, 32);
  const key = hkdf(shared, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = hkdf(shared, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(RECORD_BYTES);
  head[4] = ours.length;
  const sealed = [cipher.update(text, 'utf8'), cipher.update(LAST_RECORD), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([salt, head, ours, ...sealed]);
}

function hkdf(secret: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, bytes));
}

function freshKey(): ECDH {
  const ecdh = createECDH(CURVE);
  ecdh.generateKeys();
  return ecdh;
}

/** A key pair of an application, base64url: browsers bind subscriptions to the public key. */
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

/** The key that signs for `vapidToken`. */
export function signingKeyOf({ publicKey, privateKey }: VapidKeys): KeyObject {
  const point = Buffer.from(publicKey, 'base64url');
  const half = (POINT_BYTES - 1) / 2;
  const [x, y] = [point.subarray(1, 1 + half), point.subarray(1 + half)].map((part) => part.toString('base64url'));
  return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', d: privateKey, x: x ?? '', y: y ?? '' } });
}

/** The token for the push service at an origin. */
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
