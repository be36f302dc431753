// npm run test:previous: the services of an earlier version on the schemas that this one makes, as they stand in the middle of an upgrade.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt, ensureInstalled, fail, ROOT } from './prepare.mjs';

const HELP = `Usage: npm run test:previous [-- <tag or commit>]

Takes the newest release before this version (or what is named), has this version migrate, and runs that version's services and its own
journeys over them. Where there is no earlier release it says so and ends well. "npm test" runs it last.
`;
const JOURNEYS = ['--project', 'journeys', 'test/journeys/services.e2e-spec.ts'];

const [wanted] = process.argv.slice(2);
if (wanted === '--help') {
  process.stdout.write(HELP);
  process.exit(0);
}
const version = wanted ?? previousRelease();
if (version === undefined) {
  process.stderr.write('There is no release before this version.\n');
  process.exit(0);
}
ensureInstalled();
ensureBuilt();
const folder = mkdtempSync(join(tmpdir(), 'gatepost-previous-'));
// PostgreSQL runs as another user where we are root, and must be able to enter.
chmodSync(folder, 0o755);
try {
  process.exitCode = testAt(version);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The newest tag such as v1.2.3 that is not this version's own; undefined where there is none, or no git. */
function previousRelease() {
  const { version: own } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { status, stdout } = spawnSync('git', ['tag', '--list', 'v[0-9]*', '--merged', 'HEAD', '--sort=-v:refname'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) return undefined;
  return stdout.split('\n').find((tag) => tag !== '' && tag !== `v${own}`);
}

function testAt(commit) {
  process.stderr.write(`The services of ${commit} on the schemas of this version\n`);
  unpack(commit);
  // Installs and builds.
  if (inFolder('node', ['tools/gatepost.mjs', '--help'], 'ignore') !== 0) return fail(`${commit} cannot be built.`);
  migrateAsToday();
  return inFolder('npm', ['test', '--', ...JOURNEYS], 'inherit');
}

function unpack(commit) {
  const archive = join(folder, 'source.tar');
  execFileSync('git', ['archive', '--output', archive, commit], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync('tar', ['-xf', archive], { cwd: folder });
  rmSync(archive);
}

/** Its command line does all but one thing itself: "migrate" is ours. */
function migrateAsToday() {
  const main = join(folder, 'dist', 'apps', 'cli', 'src', 'main.js');
  const own = join(folder, 'dist', 'apps', 'cli', 'src', 'own-main.js');
  renameSync(main, own);
  const ours = pathToFileURL(join(ROOT, 'dist', 'apps', 'cli', 'src', 'main.js')).href;
  writeFileSync(main, `await import(process.argv[2] === 'migrate' ? '${ours}' : './own-main.js');\n`);
}

function inFolder(command, args, stdout) {
  const { status } = spawnSync(command, args, { cwd: folder, stdio: ['ignore', stdout, 'inherit'] });
  return status ?? 1;
}
