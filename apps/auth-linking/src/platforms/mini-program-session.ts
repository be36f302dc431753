import { z } from 'zod';
import type { AppError } from '#errors';
import type { JsonObject, PlatformKind } from '#contracts';
import { answeredId, answeredOptionalText, proofOf } from './answered-fields.js';
import type { Claim, Proof } from './platform-verifier.types.js';
import { refusal, unavailable } from './platform-errors.js';

/** What the platform of a mini program gives for a code, in the words of most of them. */
export const miniProgramSession = z.object({
  openid: answeredId,
  session_key: answeredOptionalText,
  expires_in: z.int().nonnegative().optional().catch(undefined),
  unionid: answeredOptionalText,
});

interface Session {
  readonly openid: string;
  readonly unionid?: string | undefined;
  readonly [field: string]: string | number | undefined;
}

/**
 * Why the platform gives no session.
 *
 * @param code the error that it names
 * @param errorsOfOurs those that say nothing about the client's code
 */
export function noSession(kind: PlatformKind, code: string | undefined, errorsOfOurs: ReadonlySet<string>): AppError {
  if (code !== undefined && errorsOfOurs.has(code)) return unavailable(kind, `error ${code}`);
  return refusal(kind, 'the code is wrong, used or too old');
}

/**
 * The proof that a session gives. What it holds goes into the entry, under the platform's names: the client sends only a code.
 *
 * @throws AppError refusal where the entry names another user
 */
export function sessionProof(kind: PlatformKind, claim: Claim, session: Session): Proof {
  const { openid, unionid } = session;
  const proof = proofOf(kind, claim, { id: openid, unionId: unionid });
  const fields = Object.entries({ uid: openid, ...session }).filter(([, value]) => value !== undefined);
  return { ...proof, additions: Object.fromEntries(fields) as JsonObject };
}
