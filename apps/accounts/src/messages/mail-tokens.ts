import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { MAIL_KINDS, type MailKind, sealedTokenContext } from '#contracts';
import { isStorableText } from '#objects';
import { Sealer } from '#security';

/** The column of a user that a token is bound to. */
interface TokenUser {
  readonly createdAt: Date;
}

/** The content of a link's token. */
export interface MailToken {
  readonly kind: MailKind;
  readonly appId: string;
  readonly userId: string;
  /** The user's counters when the token was created. */
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly expiresAt: Date;
}

/** 128 bits cannot be guessed and keep links short. */
const SIGNATURE_BYTES = 16;
const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/;

const version = z.number().int().min(0);
/** The user is looked up before the signature is verified, so ids must be text that PostgreSQL accepts. */
const id = z.string().refine(isStorableText);
const content = z.tuple([z.enum(MAIL_KINDS), id, id, version, version, version]);

/** A token as received, before its signature is verified. */
interface ReceivedToken {
  readonly token: MailToken;
  readonly text: string;
  readonly signature: Buffer;
}

/**
 * Creates and verifies the tokens of mailed links. A token is signed, not stored; it consists of hexadecimal digits, since older
 * page scripts match word characters. Its validity depends on the current state of its user.
 */
@Injectable()
export class MailTokens {
  constructor(private readonly sealer: Sealer) {}

  /** A token, sealed for the service that mails it (`sealedTokenContext`). */
  createSealed(token: MailToken, user: TokenUser): string {
    return this.sealer.seal(this.create(token, user), sealedTokenContext(token));
  }

  /** @returns undefined where the format is wrong */
  read(shown: string): ReceivedToken | undefined {
    if (!HEXADECIMAL.test(shown)) return undefined;
    const bytes = Buffer.from(shown, 'hex');
    const text = bytes.subarray(SIGNATURE_BYTES).toString();
    const parsed = content.safeParse(jsonOf(text));
    if (!parsed.success) return undefined;
    const [kind, appId, userId, emailVersion, passwordVersion, expiresAt] = parsed.data;
    const token = { kind, appId, userId, emailVersion, passwordVersion, expiresAt: new Date(expiresAt) };
    return { token, text, signature: bytes.subarray(0, SIGNATURE_BYTES) };
  }

  /** Whether this service created it for this user, not for an earlier user with the same id. */
  isGenuine({ text, signature }: ReceivedToken, user: TokenUser): boolean {
    return this.sealer.isHashOf(signedText(text, user), signature);
  }

  private create(token: MailToken, user: TokenUser): string {
    const { kind, appId, userId, emailVersion, passwordVersion, expiresAt } = token;
    const text = JSON.stringify([kind, appId, userId, emailVersion, passwordVersion, expiresAt.getTime()]);
    return Buffer.concat([this.sign(text, user), Buffer.from(text)]).toString('hex');
  }

  private sign(text: string, user: TokenUser): Buffer {
    return this.sealer.lookupHash(signedText(text, user)).subarray(0, SIGNATURE_BYTES);
  }
}

function signedText(text: string, { createdAt }: TokenUser): string {
  return JSON.stringify(['mail token', createdAt.getTime(), text]);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
