import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

const VERSION = 's1';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `gatepost ${purpose}`, KEY_BYTES));

/**
 * Seals secrets at rest with AES-256-GCM and looks them up by a keyed hash, so that a copy of the database alone
 * logs nobody in. Sealed text names the key it was made with: `s1.<key id>.<base64url of iv, tag, ciphertext>`.
 */
export class Sealer {
  /** As an object: bytes would be made into one anew for every value. */
  readonly #sealingKey: KeyObject;
  readonly #lookupKey: Buffer;
  readonly #keyId: string;

  /** @param secret the deployment's `GATEPOST_SECRET` */
  constructor(secret: string) {
    this.#sealingKey = createSecretKey(deriveKey(secret, 'sealing'));
    this.#lookupKey = deriveKey(secret, 'lookup');
    this.#keyId = createHash('sha256').update(deriveKey(secret, 'key id')).digest('hex').slice(0, 8);
  }

  /** @param context what the value belongs to (`session token of <id>`): it opens only under the same one */
  seal(plain: string, context: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealingKey, iv).setAAD(Buffer.from(context));
    const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return [VERSION, this.#keyId, Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64url')].join('.');
  }

  /** @throws Error where the text was sealed with another secret, for another context, or was changed */
  open(sealed: string, context: string): string {
    const [version, keyId, body = ''] = sealed.split('.');
    if (version !== VERSION) throw new Error('sealed value has an unknown format');
    if (keyId !== this.#keyId) throw new Error('sealed value was made with another GATEPOST_SECRET');
    const bytes = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.#sealingKey, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
  }

  /** A keyed hash by which a secret can be found again without being stored. */
  lookupHash(plain: string): Buffer {
    return createHmac('sha256', this.#lookupKey).update(plain).digest();
  }
}
