import { type ImportedPassword, importedPassword } from '#contracts';
import type { Sealer } from '#security';

/** Marks a stored password as the sealed hash of another server. It stays until the first login replaces it. */
export const IMPORTED_SCHEME = 'imported:';

/** The sealing context of a user's imported password. */
export function importedPasswordContext(objectId: string): string {
  return `imported password of ${objectId}`;
}

/** The column of an imported password. The hash of LeanCloud is fast, so a copy of the database must not contain it. */
export function sealImportedPassword(sealer: Sealer, objectId: string, password: ImportedPassword): string {
  return IMPORTED_SCHEME + sealer.seal(JSON.stringify(password), importedPasswordContext(objectId));
}

/** The imported password of a column; undefined where it holds a hash of ours. */
export function openImportedPassword(sealer: Sealer, objectId: string, stored: string): ImportedPassword | undefined {
  if (!stored.startsWith(IMPORTED_SCHEME)) return undefined;
  const text = sealer.open(stored.slice(IMPORTED_SCHEME.length), importedPasswordContext(objectId));
  return importedPassword.parse(JSON.parse(text));
}
