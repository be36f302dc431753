/** Begins what stands for a user who does not exist; no object id begins with it. */
const PREFIX = '~';

/**
 * The user id under which failures of a name are counted that nobody has: one of 65,536, so that names out of thin air take
 * no more memory than that.
 * @param hash keyed, so that nobody can tell which names share one
 */
export function nobodysId(hash: Buffer): string {
  return `${PREFIX}${hash.readUInt16BE()}`;
}
