// Makes a fresh clone runnable: installs the packages and builds, each only where something has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const OLDEST_NODE = [20, 19];
const INSTALL_STAMP = join(ROOT, 'node_modules', '.gatepost-install');
const BUILD_STAMP = join(ROOT, 'dist', '.gatepost-build');
const LOCK = join(ROOT, '.prepare.lock');
const LOCK_POLL_MS = 200;
const SOURCE_FOLDERS = ['apps', 'libs'];
const BUILD_FILES = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

/** Ends the process with one line of explanation. */
export function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** Runs a command in the project's folder with its output shown; fails as it fails. */
function run(command, args, env = {}) {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } });
  if (error) fail(`${command} cannot be run: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs `work` while no other command of this clone installs or builds. */
function alone(work) {
  for (;;) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isHeld(LOCK)) rmSync(LOCK, { force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS);
  }
  const release = () => rmSync(LOCK, { force: true });
  process.once('exit', release);
  try {
    work();
  } finally {
    release();
    process.off('exit', release);
  }
}

function isHeld(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

export function ensureInstalled() {
  alone(install);
}

export function ensureBuilt() {
  alone(() => {
    install();
    build();
  });
}

function install() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    fail(`Gatepost needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}.`);
  }
  const wanted = hash(readFileSync(join(ROOT, 'package-lock.json')));
  if (isStamped(INSTALL_STAMP, wanted)) return;
  process.stderr.write('Installing packages (once) …\n');
  // npm's own output would drown what this command prints; it appears where the installation fails.
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status, stderr, stdout } = spawnSync(npm, ['ci', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) fail(`${stdout}${stderr}\nThe packages could not be installed.`);
  writeFileSync(INSTALL_STAMP, wanted);
}

function build() {
  const wanted = sourceState();
  if (isStamped(BUILD_STAMP, wanted)) return;
  process.stderr.write('Building …\n');
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
  run(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json']);
  mkdirSync(dirname(BUILD_STAMP), { recursive: true });
  writeFileSync(BUILD_STAMP, wanted);
}

function isStamped(file, wanted) {
  return existsSync(file) && readFileSync(file, 'utf8') === wanted;
}

function hash(content) {
  return createHash('sha256').update(content).digest('hex');
}

/** Names, sizes and times of everything the build reads: quick to look up, different after every edit. */
function sourceState() {
  const files = [
    ...BUILD_FILES.map((name) => join(ROOT, name)),
    ...SOURCE_FOLDERS.flatMap((name) => filesBelow(join(ROOT, name))),
  ];
  const lines = files.map((file) => {
    const { size, mtimeMs } = statSync(file);
    return `${file} ${size} ${mtimeMs}`;
  });
  return hash(lines.join('\n'));
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
