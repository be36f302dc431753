import {
  type Identity,
  type JsonValue,
  MAX_UID_LENGTH,
  PLATFORM_KINDS,
  type PlatformKind,
  unionIdFamily,
} from '#contracts';
import { type AppError, appError } from '#errors';
import { reachesPrototype } from '#objects';
import type { Proof } from '../platforms/platform-verifier.types.js';
import { isUid, type ReadClaim } from './claim.rules.js';

const UNION_PLATFORM = /^[A-Za-z][A-Za-z0-9_]{0,54}$/;

/**
 * The union id that an entry carries. It counts only where the entry says what it belongs to (`platform`), and never for
 * platforms that we do not know (specification, Union-id login).
 * @param proof what the platform has confirmed: its word replaces the client's
 * @throws AppError INVALID_IDENTITY, INCORRECT_TYPE
 */
export function readUnionId(claim: ReadClaim, proof: Proof | undefined): Identity['unionId'] {
  const { platform, kind, entry } = claim;
  const { platform: belongsTo, main_account: isMain = false } = entry;
  const uid = proof === undefined ? entry['unionid'] : confirmed(claim, proof);
  if (kind === undefined || isMissing(belongsTo) || isMissing(uid)) return undefined;
  if (!isUid(uid))
    throw invalid(platform, `the union id must be a text of 1 to ${MAX_UID_LENGTH} characters, not all of them blanks`);
  return { platform: parseBelongsTo(platform, kind, belongsTo), uid, isMain: parseIsMain(platform, isMain) };
}

function isMissing(value: JsonValue | undefined): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

function confirmed({ platform, entry }: ReadClaim, { unionId }: Proof): string | undefined {
  const claimed = entry['unionid'];
  if (!isMissing(claimed) && claimed !== unionId) throw invalid(platform, 'the platform does not confirm the union id');
  return unionId;
}

/** Another platform's name would lead to another platform's users. */
function parseBelongsTo(platform: string, kind: PlatformKind, value: JsonValue): string {
  if (typeof value !== 'string' || !UNION_PLATFORM.test(value) || reachesPrototype(value))
    throw appError('INCORRECT_TYPE', { message: `authData: ${platform}.platform must be letters, digits and _.` });
  const named = PLATFORM_KINDS.find((known) => known === value);
  if (named !== undefined && unionIdFamily(named) !== unionIdFamily(kind))
    throw invalid(platform, `it has no union ids of ${named}`);
  return value;
}

/** Given as true or false, or as these words (specification, Union-id login). */
function parseIsMain(platform: string, value: JsonValue): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null || value === '') return false;
  if (value === 'true' || value === 'false') return value === 'true';
  throw appError('INCORRECT_TYPE', { message: `authData: ${platform}.main_account must be true or false.` });
}

function invalid(platform: string, reason: string): AppError {
  return appError('INVALID_IDENTITY', { message: `Invalid authData of ${platform}: ${reason}.` });
}
