// The password hashes of other servers, in a JavaScript file, because hashing threads run it from the sources and from the build alike.
import { createHash } from 'node:crypto';

const ROUNDS = 512;

/**
 * SHA-512 of salt and password, hashed again 512 times.
 * @param {string} salt text whose UTF-8 bytes count
 * @param {string} password
 * @returns {string} 88 characters of Base64
 */
export function leancloudHash(salt, password) {
  let digest = createHash('sha512').update(salt, 'utf8').update(password, 'utf8').digest();
  for (let round = 0; round < ROUNDS; round += 1) digest = createHash('sha512').update(digest).digest();
  return digest.toString('base64');
}

/**
 * The same hash with the version that the bcrypt package knows: `$2x$` and `$2y$` are PHP's names, and equal `$2b$` for all passwords that
 * PHP's older versions hashed correctly.
 * @param {string} hash
 * @returns {string}
 */
export function importedBcryptHash(hash) {
  return hash.replace(/^\$2[xy]\$/, '$2b$');
}
