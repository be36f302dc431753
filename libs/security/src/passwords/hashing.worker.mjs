// The program of a hashing thread (password-hasher.ts).
import { timingSafeEqual } from 'node:crypto';
import { getPriority, setPriority } from 'node:os';
import bcrypt from 'bcrypt';
import { importedBcryptHash, leancloudHash } from '../imported-password.mjs';

const NICENESS = 10;

// Linux has a priority per thread: the event loop is scheduled first, however many passwords are hashed. A process that was started with a
// lower priority keeps it: only root may raise it.
if (process.platform === 'linux' && getPriority(0) < NICENESS) setPriority(0, NICENESS);

/**
 * @param {import('./password-hasher.js').HashingJob} job
 * @returns {string | boolean} the hash; whether the password is right; for an imported hash, our own hash or false
 */
export default function run(job) {
  if ('imported' in job) return rehash(job);
  return 'hash' in job ? bcrypt.compareSync(job.text, job.hash) : bcrypt.hashSync(job.text, job.cost);
}

/** Takes as long for a wrong password as for a right one of our own. */
function rehash({ text, imported, password, cost }) {
  if (imported.scheme === 'leancloud') {
    const isRight = isEqual(leancloudHash(imported.salt, password), imported.hash);
    const hash = bcrypt.hashSync(text, cost);
    return isRight && hash;
  }
  const stored = importedBcryptHash(imported.hash);
  if (bcrypt.compareSync(password, stored)) return bcrypt.hashSync(text, cost);
  // Each step of the cost doubles the work: together with the comparison, that of one hash of our cost.
  for (let step = bcrypt.getRounds(stored); step < cost; step += 1) bcrypt.hashSync(text, step);
  return false;
}

function isEqual(one, other) {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
