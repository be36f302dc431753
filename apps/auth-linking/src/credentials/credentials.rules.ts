import {
  ANONYMOUS_PLATFORM,
  credentialProblem,
  isUnionIdEntryName,
  PLATFORM_CREDENTIALS,
  PLATFORM_KINDS,
  type PlatformCredentials,
  type PlatformKind,
  type SplitCredentials,
  splitCredentials,
} from '#contracts';
import { appError } from '#errors';

type Fields = Readonly<Record<string, string>>;

/**
 * Parses the fields that an operator sets for a platform.
 * @throws AppError INCORRECT_TYPE, which names the field, never its value
 */
export function parseCredentials(platform: string, kind: PlatformKind, fields: Fields): SplitCredentials {
  if (isKind(platform) && platform !== kind)
    throw refused(`"${platform}" is a platform of its own: it cannot have credentials of the kind "${kind}".`);
  if (isUnionIdEntryName(platform) || platform === ANONYMOUS_PLATFORM)
    throw refused(`"${platform}" is not a third-party platform.`);
  const problem = credentialProblem(kind, PLATFORM_CREDENTIALS[kind], fields);
  if (problem !== undefined) throw refused(problem);
  return splitCredentials(PLATFORM_CREDENTIALS[kind], fields);
}

/** The stored fields as credentials of their kind. @throws Error if they are invalid, such as after a downgrade */
export function joinCredentials(kind: string, { shown, secrets }: SplitCredentials): PlatformCredentials {
  const parsed = isKind(kind) ? PLATFORM_CREDENTIALS[kind].safeParse({ ...shown, ...secrets }) : undefined;
  if (parsed?.success !== true) throw new Error(`they are not credentials of the kind "${kind}"`);
  return parsed.data;
}

function isKind(text: string): text is PlatformKind {
  return PLATFORM_KINDS.some((kind) => kind === text);
}

function refused(message: string): Error {
  return appError('INCORRECT_TYPE', { message });
}
