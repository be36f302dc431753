// Makes a fresh clone runnable: installs the packages and builds, each only where something has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import util from 'node:util';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const OLDEST_NODE = [20, 19];
const PACKAGE_LOCK = join(ROOT, 'package-lock.json');
/** npm writes it last, with what it has installed. */
const INSTALLED_LOCK = join(ROOT, 'node_modules', '.package-lock.json');
const INSTALL_STAMP = join(ROOT, 'node_modules', '.gatepost-install');
const BUILD_STAMP = join(ROOT, 'dist', '.gatepost-build');
const LOCK = join(ROOT, '.prepare.lock');
const LOCK_POLL_MS = 200;
const SOURCE_FOLDERS = ['apps', 'libs'];
const PAGE_BUILD_STAMP = join(ROOT, 'dist', '.gatepost-page');
/** Where the page of the console stands, and where it is built into. */
const PAGE = join('apps', 'console', 'web');
/** The files that the page imports from outside of its folder. */
const PAGE_SOURCES = [PAGE, join('apps', 'console', 'src', 'api')];
const BUILD_FILES = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

/** Ends the process with one line of explanation. */
export function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** Reads the arguments of a command, as `parseArgs` does; ends the process where one is wrong. */
export function readArguments(config) {
  try {
    // Not imported by name: a Node that lacks it must come as far as our message about its version.
    return util.parseArgs(config);
  } catch (error) {
    return fail(`${error.message.split(/\.\s/)[0]}. See --help.`);
  }
}

/** Runs a command in the project's folder with its output on standard error; fails as it fails. */
function run(command, args, env = {}) {
  const stdio = ['inherit', 2, 'inherit'];
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio, env: { ...process.env, ...env } });
  if (error) fail(`${command} cannot be run: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs `work` while no other command of this clone installs or builds. */
function alone(work) {
  takeLock();
  const release = () => rmSync(LOCK, { force: true });
  process.once('exit', release);
  try {
    work();
  } finally {
    release();
    process.off('exit', release);
  }
}

function takeLock() {
  let isTold = false;
  while (!isLockTaken()) {
    const holder = contentOf(LOCK);
    if (holder === undefined) continue;
    if (isDead(Number(holder))) {
      removeLockOf(holder);
      continue;
    }
    if (!isTold) process.stderr.write(`Waiting for process ${holder}, which installs or builds …\n`);
    isTold = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS);
  }
}

/** The lock appears with its content, so that no process finds it empty. */
function isLockTaken() {
  const own = `${LOCK}.${process.pid}`;
  let code;
  try {
    writeFileSync(own, String(process.pid));
    linkSync(own, LOCK);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    ({ code } = error);
  } finally {
    rmSync(own, { force: true });
  }
  const remedy = code === 'EACCES' ? ' Run "npm run gatepost -- --help" once as its owner.' : '';
  return fail(`${ROOT} must be built, but cannot be locked for it (${code}).${remedy}`);
}

/** Removes the lock of a process that was killed. Moved aside first: where another has taken it meanwhile, it goes back. */
function removeLockOf(holder) {
  const aside = `${LOCK}.${process.pid}`;
  try {
    renameSync(LOCK, aside);
    if (contentOf(aside) !== holder) linkSync(aside, LOCK);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function isDead(pid) {
  // Not a process id, or this process's own, given again after a restart of a container: the lock has no owner.
  if (!(pid > 0) || pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function contentOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

export function ensureInstalled() {
  assertNodeVersion();
  alone(install);
}

export function ensureBuilt() {
  assertNodeVersion();
  // Stamps are written last: where they fit there is nothing to do, and commands need not take turns.
  if (isStamped(INSTALL_STAMP, packagesState()) && isStamped(BUILD_STAMP, sourceState())) return;
  alone(() => {
    install();
    build();
  });
}

/** Builds the stand-ins of vendors' push services, which belong to the tests and so are no part of the product's build. */
export function ensureStandInsBuilt() {
  ensureBuilt();
  alone(() =>
    run(process.execPath, [
      join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'),
      '-p',
      'libs/testing/tsconfig.stand-ins.json',
    ]),
  );
}

function assertNodeVersion() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    fail(`Gatepost needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}.`);
  }
}

function install() {
  const wanted = packagesState();
  if (isStamped(INSTALL_STAMP, wanted)) return;
  if (!isInstalled()) {
    process.stderr.write('Installing packages (once) …\n');
    // npm's own output would drown what this command prints; it appears where the installation fails.
    const npm = ['ci', '--include=dev', '--no-audit', '--no-fund'];
    const { status, stderr, stdout, error } = spawnSync('npm', npm, { cwd: ROOT, encoding: 'utf8' });
    if (error) fail(`npm cannot be run: ${error.message}`);
    if (status !== 0) fail(`${stdout}${stderr}\nThe packages could not be installed.`);
  }
  writeFileSync(INSTALL_STAMP, wanted);
}

/** Whether the user's own `npm ci` has installed all packages except those for other platforms. */
function isInstalled() {
  if (!existsSync(INSTALLED_LOCK)) return false;
  const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  const installed = packagesOf(INSTALLED_LOCK);
  return Object.entries(packagesOf(PACKAGE_LOCK)).every(([path, wanted]) =>
    installed[path] === undefined
      ? path === '' || wanted.optional === true
      : installed[path].integrity === wanted.integrity,
  );
}

function build() {
  const wanted = sourceState();
  if (isStamped(BUILD_STAMP, wanted)) return;
  process.stderr.write('Building …\n');
  removeOrphans();
  run(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json']);
  mkdirSync(dirname(BUILD_STAMP), { recursive: true });
  buildPage();
  writeFileSync(BUILD_STAMP, wanted);
}

/** Builds the page of the console, which takes seconds, where one of its own sources has changed. */
function buildPage() {
  const wanted = stateOf([
    join(ROOT, 'package-lock.json'),
    ...PAGE_SOURCES.flatMap((name) => filesBelow(join(ROOT, name))),
  ]);
  if (isStamped(PAGE_BUILD_STAMP, wanted)) return;
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  run(process.execPath, [vite, 'build', '--config', join(PAGE, 'vite.config.ts'), '--logLevel', 'warn']);
  writeFileSync(PAGE_BUILD_STAMP, wanted);
}

/** Output of removed sources; the rest is rebuilt if its source, or a dependency of it, has changed. */
function removeOrphans() {
  const dist = join(ROOT, 'dist');
  if (!existsSync(dist)) return;
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const built = join(entry.parentPath, entry.name);
    if (built.startsWith(join(dist, PAGE))) continue;
    const source = join(ROOT, relative(dist, built).replace(/\.map$/, ''));
    const hasSource = existsSync(source) || existsSync(source.replace(/\.js$/, '.ts'));
    if (entry.isFile() && /\.m?js(?:\.map)?$/.test(entry.name) && !hasSource) rmSync(built);
  }
}

function isStamped(file, wanted) {
  return contentOf(file) === wanted;
}

function hash(content) {
  return createHash('sha256').update(content).digest('hex');
}

function packagesState() {
  return hash(readFileSync(PACKAGE_LOCK));
}

/** Names, sizes and times of everything the build reads: quick to look up, different after every edit. */
function sourceState() {
  return stateOf([
    ...BUILD_FILES.map((name) => join(ROOT, name)),
    ...SOURCE_FOLDERS.flatMap((name) => filesBelow(join(ROOT, name))),
  ]);
}

function stateOf(files) {
  const lines = files.map((file) => {
    const { size, mtimeMs } = statSync(file);
    return `${file} ${size} ${mtimeMs}`;
  });
  return hash(lines.join('\n'));
}

function filesBelow(folder) {
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:m?[jt]s|tsx|css|html|svg)$/.test(entry.name))
      // The builds of the push client, which no build of the server reads.
      .filter((entry) => !relative(folder, entry.parentPath).split(sep).includes('dist'))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  );
}
