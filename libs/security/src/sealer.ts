import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from 'node:crypto';
import type { SplitCredentials } from '#contracts';
import { appError, messageOf } from '#errors';

const VERSION = 's1';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const IVS_AT_ONCE = 256;

const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `gatepost ${purpose}`, KEY_BYTES));

interface SecretKeys {
  /** A KeyObject: with raw bytes, each operation would create a new one. */
  readonly sealing: KeyObject;
  readonly lookup: Buffer;
  readonly id: string;
}

/** Seals with AES-256-GCM as `s1.<key id>.<base64url of iv, tag, ciphertext>`. One key seals; all of the ring open and recognise (ADR 25). */
export class Sealer {
  /** The reason why the sealing secret may be guessable; null where no sign of weakness was found. */
  readonly weakness: string | null;
  readonly #current: SecretKeys;
  /** By id, the current key first. */
  readonly #ring: ReadonlyMap<string, SecretKeys>;
  #ivs = Buffer.alloc(0);

  /** @param secret `GATEPOST_SECRET`: seals, opens and hashes. @param accepted `GATEPOST_ACCEPTED_SECRETS`: only open and recognise */
  constructor(secret: string, accepted: readonly string[] = []) {
    this.weakness = weaknessOf(secret);
    this.#current = keysOf(secret);
    this.#ring = new Map([this.#current, ...accepted.map(keysOf)].map((keys) => [keys.id, keys]));
  }

  /** The id of the sealing key. It reveals nothing about the secret. */
  get keyId(): string {
    return this.#current.id;
  }

  get acceptedKeyIds(): string[] {
    return [...this.#ring.keys()].filter((id) => id !== this.keyId);
  }

  /** @param context the owner of the value (`session token of <id>`): the value opens only under the same context */
  seal(plain: string, context: string): string {
    const { id, sealing } = this.#current;
    const iv = this.#nextIv();
    const cipher = createCipheriv('aes-256-gcm', sealing, iv).setAAD(Buffer.from(context));
    const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return [VERSION, id, Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64url')].join('.');
  }

  /** The system is asked for random bytes in blocks: a request for each vector takes a third of the time of sealing. */
  #nextIv(): Buffer {
    if (this.#ivs.length === 0) this.#ivs = randomBytes(IV_BYTES * IVS_AT_ONCE);
    const iv = this.#ivs.subarray(0, IV_BYTES);
    this.#ivs = this.#ivs.subarray(IV_BYTES);
    return iv;
  }

  /** @throws Error where the secret that sealed the text is not in the ring, the context differs, or the text was changed */
  open(sealed: string, context: string): string {
    const [version, keyId = '', body = ''] = sealed.split('.');
    if (version !== VERSION) throw new Error('sealed value has an unknown format');
    const keys = this.#ring.get(keyId);
    if (keys === undefined) throw new Error('sealed value was made with another GATEPOST_SECRET');
    const bytes = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', keys.sealing, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
  }

  isOutdated(sealed: string): boolean {
    const [, keyId = ''] = sealed.split('.', 2);
    return keyId !== this.keyId && this.#ring.has(keyId);
  }

  /** A keyed hash that finds a secret whose text is not stored. */
  lookupHash(plain: string): Buffer {
    return hashed(this.#current, plain);
  }

  /** The hash with each key of the ring, the current key first: a stored hash may use any of them. */
  lookupHashes(plain: string): readonly Buffer[] {
    return [...this.#ring.values()].map((keys) => hashed(keys, plain));
  }

  /** Whether a stored hash, or a prefix of one, belongs to this secret. Compares in constant time. */
  isHashOf(plain: string, stored: Buffer): boolean {
    return this.lookupHashes(plain)
      .map((hash) => timingSafeEqual(hash.subarray(0, stored.length), stored))
      .includes(true);
  }
}

function keysOf(secret: string): SecretKeys {
  return {
    sealing: createSecretKey(deriveKey(secret, 'sealing')),
    lookup: deriveKey(secret, 'lookup'),
    id: createHash('sha256').update(deriveKey(secret, 'key id')).digest('hex').slice(0, 8),
  };
}

function hashed({ lookup }: SecretKeys, plain: string): Buffer {
  return createHmac('sha256', lookup).update(plain).digest();
}

interface Revealable {
  reveal(): string;
}

export function sealerOf({
  secret,
  acceptedSecrets,
}: {
  readonly secret: Revealable;
  readonly acceptedSecrets: readonly Revealable[];
}): Sealer {
  return new Sealer(
    secret.reveal(),
    acceptedSecrets.map((one) => one.reveal()),
  );
}

/** A random secret of 32 hexadecimal digits almost never has fewer distinct characters. */
const MIN_DISTINCT_CHARACTERS = 10;

function weaknessOf(secret: string): string | null {
  if (new Set(secret).size < MIN_DISTINCT_CHARACTERS) return 'it consists of few different characters';
  if (/^(.{1,16})\1+$/.test(secret)) return 'it repeats itself';
  return /secret|password|change.?me|example|gatepost/i.test(secret) ? 'it consists of words' : null;
}

type Secrets = SplitCredentials['secrets'];

type CredentialsRow<Key> = Key & {
  readonly shown: SplitCredentials['shown'];
  readonly sealedSecrets: string;
};

interface ShownCredentials {
  readonly shown: Record<string, string>;
  readonly secrets: string[];
}

interface CredentialNames<Key> {
  readonly context: (key: Key) => string;
  readonly title: (key: Key) => string;
}

/** Seals the secret fields of stored credentials, and opens them for as long as a caller uses them. @template Key the columns that name a row */
export class SealedCredentials<Key> {
  constructor(
    private readonly sealer: Sealer,
    private readonly names: CredentialNames<Key>,
  ) {}

  /** @returns the columns to store, and the reply to the operator who has set the credentials */
  seal<Own extends Key>(
    key: Own,
    { shown, secrets }: SplitCredentials,
  ): { row: CredentialsRow<Own>; reply: ShownCredentials } {
    const sealedSecrets = this.sealer.seal(JSON.stringify(secrets), this.names.context(key));
    return { row: { ...key, shown, sealedSecrets }, reply: { shown: { ...shown }, secrets: Object.keys(secrets) } };
  }

  open<T>(row: CredentialsRow<Key>, make: (credentials: SplitCredentials) => T): T {
    try {
      return make({ shown: row.shown, secrets: this.#secretsOf(row) });
    } catch (cause) {
      throw new Error(`the ${this.names.title(row)} cannot be used: ${messageOf(cause)}`, { cause });
    }
  }

  /** As `open`, for a caller that waits. @throws AppError SERVICE_UNAVAILABLE; for the log, its cause is the error of `open` */
  openOrFail<T>(row: CredentialsRow<Key>, make: (credentials: SplitCredentials) => T): T {
    try {
      return this.open(row, make);
    } catch (cause) {
      throw appError('SERVICE_UNAVAILABLE', { cause });
    }
  }

  /** The fields that operators see, and the names of the secret ones. @throws AppError SERVICE_UNAVAILABLE as `openOrFail` */
  show(row: CredentialsRow<Key>): ShownCredentials {
    return this.openOrFail(row, ({ shown, secrets }) => ({ shown: { ...shown }, secrets: Object.keys(secrets) }));
  }

  /** @param row any stored row @throws Error if it was sealed with another secret: then no credentials can be used */
  assertSecretFits(row: CredentialsRow<Key> | undefined): void {
    if (row !== undefined) this.#secretsOf(row);
  }

  #secretsOf(row: CredentialsRow<Key>): Secrets {
    return JSON.parse(this.sealer.open(row.sealedSecrets, this.names.context(row))) as Secrets;
  }
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Random digits for ids, tokens and codes. @param base the letters count as digits from 10: `a-z`, then `A-Z` */
export function randomDigits(length: number, base: 10 | 36 | 62): string {
  return Array.from({ length }, () => DIGITS[randomInt(base)]).join('');
}
