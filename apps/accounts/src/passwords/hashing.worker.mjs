// The program of a hashing thread (password-hasher.ts).
import { getPriority, setPriority } from 'node:os';
import bcrypt from 'bcrypt';

const NICENESS = 10;

// Linux has a priority per thread: the event loop is scheduled first, however many passwords are hashed. A process that was started with a
// lower priority keeps it: only root may raise it.
if (process.platform === 'linux' && getPriority(0) < NICENESS) setPriority(0, NICENESS);

/**
 * @param {import('./password-hasher.js').HashingJob} job
 * @returns {string | boolean} the hash, or whether the password is right
 */
export default function run(job) {
  return 'hash' in job ? bcrypt.compareSync(job.text, job.hash) : bcrypt.hashSync(job.text, job.cost);
}
