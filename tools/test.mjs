// npm test: everything that can be checked and tested, against real servers.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ensureBuilt, ensureInstalled, fail, ROOT } from './prepare.mjs';

const HELP = `Usage: npm test [-- <arguments of vitest>]
       npm run test:all [-- <arguments of vitest>]

Installs the packages of npm, provides what the tests need besides, then runs npm run check
beside the unit, database, broker, end-to-end, deployment and journey tests, and then the release before on the schemas of this version.
"npm run test:all" and "npm test -- --slow" also run the long life cycles and the faults of single parts (project slow).

Servers: those that answer at DATABASE_URL, REDIS_URL and AMQP_URL or their default local ports; else containers, where a
Docker engine runs; else private ones from installed programs. A PostgreSQL comes with the packages of npm.
Browser: the one at CHROMIUM_PATH, else Chromium or Chrome on the PATH. kubectl: the one at KUBECTL_PATH, else on the PATH, 1.27 or newer.
If the command runs as root on a system with apt-get, it announces and installs missing parts; TEST_INSTALL=no prevents this.
It skips the suites of parts that are still missing, and lists them with the reason at the end. tools/test/needs.mjs declares the parts of
each file. With CI=true and "npm run test:all", a missing part is a failure before anything runs.
TEST_WITHOUT=kubectl,browser skips the suites that need these parts, in every case. Parts: postgresql, postgresql-client, redis,
redis-server, rabbitmq, rabbitmq-server, browser, kubectl (the ones that end in -server or -client: programs).
If the tests of at most six files fail, these files run once more, alone; a file that passes then is reported as unstable.
The tests work in a database, queues and key prefixes of their own and remove them afterwards.

With arguments only the tests run that they select:
  npm test -- --project unit            the unit tests (projects: unit, database, broker, e2e, journeys,
                                        deployment, slow)
  npm test -- users                     the tests whose file names contain "users"
  npm test -- -t 'signs up'             the tests whose names match

Races, faults and hostile input have commands of their own: npm run test:races, test:faults, test:hostile.
`;

const RUN_ID = randomBytes(4).toString('hex');
const INTERRUPTED = 130;
const BACKGROUND_PRIORITY = 19;
/** Where more files failed, the load of the machine is not the cause. */
const MAX_REPEATED_FILES = 6;
/** Ours; everything else is for vitest. --all: also the slow project, and no part may be missing. --slow: the first of both alone. */
const OWN = ['--all', '--slow'];
const vitestArguments = process.argv.slice(2).filter((argument) => !OWN.includes(argument));
const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
const isComplete = isCi || process.argv.includes('--all');
const isSlowWanted = OWN.some((argument) => process.argv.includes(argument));
/** Not the proofs, which take long and have commands of their own. */
const EVERYDAY = ['unit', 'database', 'broker', 'e2e', 'deployment', 'journeys'];
const PROJECTS = [...EVERYDAY, ...(isSlowWanted ? ['slow'] : [])].map((project) => `--project=${project}`);

if (vitestArguments.includes('--help') || vitestArguments.includes('-h')) {
  process.stdout.write(HELP);
  process.exit(0);
}

const startedAt = Date.now();
const running = new Set();
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    isInterrupted = true;
    for (const child of running) child.kill(signal);
  });
}

ensureInstalled();
ensureBuilt();
const { PARTS, provideParts } = await import('./test/parts.mjs');
const { isPreviousLeftOut, leftOut, leftOutLines, missingLines, partsOf, select } =
  await import('./test/selection.mjs');
const { SERVERS } = await import('./test/servers.mjs');
const { cleanUp, createDatabase } = await import('./test/cleanup.mjs');

const selected = selectOrFail();
const without = withoutOrFail();
const { there, missing, stop } = await provideParts({ wanted: partsOf(selected), without, log });
const absent = leftOut(selected, missing);
await failWhereIncomplete();
const run = {
  urls: Object.fromEntries(
    Object.entries(SERVERS).map(([part, { variable }]) => [variable, there.get(part)?.url ?? '']),
  ),
  database: `gatepost_test_${RUN_ID}`,
  namespace: `gatepost-test-${RUN_ID}`,
  folder: makeFolder(),
};
const isPassed = await runAll().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  return false;
});
for (const problem of await cleanUp(run)) process.stderr.write(`Not everything could be removed: ${problem}\n`);
await stop();
for (const line of leftOutLines(absent, missing)) log(line);
const { outcome, status } = verdict(isPassed);
log(`${outcome} after ${seconds(startedAt)}${summary()}`);
process.exit(status);

function verdict(isPassed) {
  if (isPassed) return { outcome: 'passed', status: 0 };
  return isInterrupted ? { outcome: 'interrupted', status: INTERRUPTED } : { outcome: 'FAILED', status: 1 };
}

function summary() {
  const count = absent.whole.length + absent.inPart.length;
  return count === 0 ? '' : `; ${count} suites not run, or not all of them: see above`;
}

function selectOrFail() {
  try {
    const args = vitestArguments.length > 0 ? vitestArguments : PROJECTS;
    return select(args, { withPrevious: vitestArguments.length === 0 });
  } catch (error) {
    return fail(error.message);
  }
}

function withoutOrFail() {
  const named = (process.env.TEST_WITHOUT ?? '').split(',').filter((part) => part !== '');
  const unknown = named.filter((part) => !(part in PARTS));
  if (unknown.length > 0)
    fail(`TEST_WITHOUT names no part: ${unknown.join(', ')}. Parts: ${Object.keys(PARTS).join(', ')}.`);
  return named;
}

/** Nothing is left out in silence where it counts, nor is a run that tests nothing a success. */
async function failWhereIncomplete() {
  const unwanted = new Map([...missing].filter(([part]) => !without.includes(part)));
  const isNothingLeft = absent.whole.length === selected.length;
  if (!(isNothingLeft || (isComplete && unwanted.size > 0))) return;
  await stop();
  for (const line of leftOutLines(absent, missing)) log(line);
  fail(
    isNothingLeft
      ? 'None of the selected tests can run here.'
      : `Everything has to run here (${isCi ? 'CI is set' : 'npm run test:all'}), and parts are missing:\n${missingLines(unwanted).join('\n')}`,
  );
}

async function runAll() {
  if (there.has('postgresql')) await createDatabase(run.urls.DATABASE_URL, run.database);
  if (vitestArguments.length > 0) return vitest('tests', vitestArguments);
  // A step that fails does not hide what the later ones would show.
  const [isClean, isTested] = await Promise.all([check(), allTests()]);
  const isUpgradable =
    isPreviousLeftOut(absent) ||
    (await step('the release before, on these schemas', 'npm', ['run', '--silent', 'test:previous']));
  return isTested && isUpgradable && isClean;
}

/** Beside the tests, which often wait, and with less of the processor than they get. Its output comes in one piece. */
function check() {
  return step('npm run check', 'npm', ['run', '--silent', 'check'], { isBackground: true });
}

/**
 * A test that fails among thousands and passes alone is unstable: it is named, its failure stays in the output, and it has to be fixed;
 * the run goes on.
 */
async function allTests() {
  const report = join(run.folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  if (await vitest('tests', [...PROJECTS, ...reporters])) return true;
  const failed = failedFiles(report);
  if (isInterrupted || failed.length === 0 || failed.length > MAX_REPEATED_FILES) return false;
  if (!(await vitest('tests that failed, alone', [...failed, '--no-file-parallelism']))) return false;
  for (const file of failed) log(`UNSTABLE, failed among the others and passed alone: ${file}`);
  return true;
}

/** @param report the file of vitest's JSON reporter */
function failedFiles(report) {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    return testResults.filter(({ status }) => status !== 'passed').map(({ name }) => relative(ROOT, name));
  } catch {
    // Vitest has not come as far as its report.
    return [];
  }
}

function vitest(name, args) {
  return step(name, process.execPath, [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...args]);
}

async function step(name, command, args, { isBackground = false } = {}) {
  if (isInterrupted) return false;
  log(`${name} …`);
  const stepStartedAt = Date.now();
  const isPassed = await runCommand(command, args, isBackground);
  log(`${name}: ${isPassed ? 'passed' : 'FAILED'} (${seconds(stepStartedAt)})`);
  return isPassed;
}

function runCommand(command, args, isBackground) {
  return new Promise((resolve) => {
    const stdio = isBackground ? ['ignore', 'pipe', 'pipe'] : 'inherit';
    const child = spawn(command, args, { cwd: ROOT, stdio, env: testEnvironment() });
    running.add(child);
    if (isBackground && child.pid !== undefined) setPriority(child.pid, BACKGROUND_PRIORITY);
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
    child.once('error', (error) => {
      process.stderr.write(`${command} cannot be run: ${error.message}\n`);
      resolve(false);
    });
    child.once('close', (status) => {
      running.delete(child);
      process.stderr.write(Buffer.concat(output));
      resolve(status === 0);
    });
  });
}

/** The environment of tests; the caller's own Gatepost variables must not leak into them. */
function testEnvironment() {
  const foreign = Object.keys(process.env).filter((name) => name.startsWith('GATEPOST_'));
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.includes(name))),
    ...run.urls,
    NODE_ENV: 'test',
    TEST_DATABASE: run.database,
    TEST_NAMESPACE: run.namespace,
    TEST_FOLDER: run.folder,
    TEST_BROWSER: there.get('browser')?.path ?? '',
    TEST_KUBECTL: there.get('kubectl')?.path ?? '',
    TEST_PARTS: [...there.keys()].join(','),
    TEST_LEFT_OUT: absent.whole.map(({ file }) => file).join(','),
  };
}

function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-test-'));
  // PostgreSQL runs as another user where we are root, and must be able to enter.
  chmodSync(folder, 0o755);
  return folder;
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}

function log(line) {
  process.stderr.write(`[npm test] ${line}\n`);
}
