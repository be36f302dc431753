// Holds the subjects of commits to the form of CONTRIBUTING.md. Usage: npm run check:commits
import { execFileSync } from 'node:child_process';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');
/** The last commit before the form was agreed. */
const BASE = 'de75c09d206e78d806417a54c44a195982d93897';
const MAX_LENGTH = 72;
const FORM = /^(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([a-z0-9,-]+\))?!?: \S.*[^.\s]$/;

const subjects = subjectsSince(BASE);
if (subjects === undefined) {
  console.log('check:commits: the history is not here, so there is nothing to check');
} else {
  const wrong = subjects.filter(({ subject }) => subject.length > MAX_LENGTH || !FORM.test(subject));
  for (const { hash, subject } of wrong)
    console.error(`${hash} "${subject}": write "type(scope): what changes" in at most ${MAX_LENGTH} characters`);
  console.log(`${subjects.length - wrong.length} of ${subjects.length} commit subjects have the agreed form`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

/** @returns undefined outside a clone, and in a shallow one without the base */
function subjectsSince(base) {
  try {
    const git = (...args) =>
      execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    git('cat-file', '-e', base);
    const lines = git('log', '--format=%h %s', `${base}..HEAD`).split('\n').filter(Boolean);
    return lines.map((line) => ({
      hash: line.slice(0, line.indexOf(' ')),
      subject: line.slice(line.indexOf(' ') + 1),
    }));
  } catch {
    return undefined;
  }
}
