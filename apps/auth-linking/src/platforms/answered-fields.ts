import { z } from 'zod';
import { MAX_UID_LENGTH, type PlatformKind } from '#contracts';
import type { Claim, Proof } from './platform-verifier.types.js';
import { refusal } from './platform-errors.js';

const MAX_ERROR_CODE_LENGTH = 255;

/** An id in a platform's answer. */
export const answeredId = z.string().min(1).max(MAX_UID_LENGTH);
/** What platforms give only to some apps, and some leave empty: a union id, a key, a token. */
export const answeredOptionalText = answeredId.optional().catch(undefined);
/** An error code in a platform's answer. What is no code is an error all the same. */
export const answeredErrorCode = z
  .union([z.number().transform(String), z.string().max(MAX_ERROR_CODE_LENGTH)])
  .optional()
  .catch('unreadable');

/** What the platform says of whom it knows. @throws AppError refusal where it knows nobody, or somebody else */
export function proofOf(
  kind: PlatformKind,
  { uid }: Claim,
  answered: { readonly id: string | undefined; readonly unionId?: string | undefined },
): Proof {
  const { id, unionId } = answered;
  if (id === undefined) throw refusal(kind, 'the platform names no user');
  if (uid !== undefined && uid !== id) throw refusal(kind, 'it is for another user');
  return unionId === undefined ? { uid: id } : { uid: id, unionId };
}
