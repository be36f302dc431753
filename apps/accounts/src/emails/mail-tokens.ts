import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { MAIL_KINDS, sealedTokenContext } from '#contracts';
import { isStorableText } from '#objects';
import { Sealer } from '#security';
import type { UserRow } from '../users/user.row.js';
import type { MailToken } from './mail-token.types.js';

/** 128 bits cannot be guessed, and links stay shorter. */
const SIGNATURE_BYTES = 16;
const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/;

const version = z.number().int().min(0);
/** Users are looked up by what is not proven yet: what the database could not even be asked for names nobody. */
const id = z.string().refine(isStorableText);
const content = z.tuple([z.enum(MAIL_KINDS), id, id, version, version, version]);

/** A token as somebody shows it: what it says is not proven yet. */
export interface ShownToken {
  readonly token: MailToken;
  readonly text: string;
  readonly signature: Buffer;
}

/**
 * Makes the tokens of mailed links and recognises them. A token is signed, not stored; it consists of hexadecimal digits, since page
 * scripts of old look for word characters. What it is good for depends on the user whom it names.
 */
@Injectable()
export class MailTokens {
  constructor(private readonly sealer: Sealer) {}

  /** A token, sealed for the service that mails it (`sealedTokenContext`). */
  createSealed(token: MailToken, user: Pick<UserRow, 'createdAt'>): string {
    return this.sealer.seal(this.create(token, user), sealedTokenContext(token));
  }

  /** @returns undefined where it cannot be one of ours */
  read(shown: string): ShownToken | undefined {
    if (!HEXADECIMAL.test(shown)) return undefined;
    const bytes = Buffer.from(shown, 'hex');
    const text = bytes.subarray(SIGNATURE_BYTES).toString();
    const parsed = content.safeParse(jsonOf(text));
    if (!parsed.success) return undefined;
    const [kind, appId, userId, emailVersion, passwordVersion, expiresAt] = parsed.data;
    const token = { kind, appId, userId, emailVersion, passwordVersion, expiresAt: new Date(expiresAt) };
    return { token, text, signature: bytes.subarray(0, SIGNATURE_BYTES) };
  }

  /** Whether we made it for this user, and not for one before it that had the same id. */
  isGenuine({ text, signature }: ShownToken, user: Pick<UserRow, 'createdAt'>): boolean {
    return this.sealer.isHashOf(signedText(text, user), signature);
  }

  private create(token: MailToken, user: Pick<UserRow, 'createdAt'>): string {
    const { kind, appId, userId, emailVersion, passwordVersion, expiresAt } = token;
    const text = JSON.stringify([kind, appId, userId, emailVersion, passwordVersion, expiresAt.getTime()]);
    return Buffer.concat([this.sign(text, user), Buffer.from(text)]).toString('hex');
  }

  private sign(text: string, user: Pick<UserRow, 'createdAt'>): Buffer {
    return this.sealer.lookupHash(signedText(text, user)).subarray(0, SIGNATURE_BYTES);
  }
}

function signedText(text: string, { createdAt }: Pick<UserRow, 'createdAt'>): string {
  return JSON.stringify(['mail token', createdAt.getTime(), text]);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
