// Provides the kubectl by which the tests render the manifests of deploy/kubernetes: the installed one, or one from the system's packages.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../prepare.mjs';
import { isProgram, programOf } from './programs.mjs';
import { canInstall, install } from './system-packages.mjs';

const VARIABLE = 'KUBECTL_PATH';
/** Since then its kustomize knows components and patches as we write them. */
const OLDEST = [1, 27];
/** The test files that need it stand in this folder. */
const NEEDING_IT = join('test', 'deployment', 'kubernetes');

/**
 * Provides a kubectl for the tests that the arguments of vitest select. Nothing is installed, or missed, where none of them needs it.
 * @returns its path; undefined where no test needs it
 * @throws Error with one line that says what is missing
 */
export function provideKubectl({ tell, vitestArguments }) {
  const installed = installedKubectl();
  if (isNewEnough(installed)) {
    tell(`kubectl: the one at ${installed}`);
    return installed;
  }
  if (!needsKubectl(vitestArguments)) return undefined;
  const problem = canInstall() ? tryToInstall(tell) : 'only root can install packages, with apt-get';
  const found = programOf('kubectl');
  if (isNewEnough(found)) return found;
  throw new Error(
    `kubectl ${OLDEST.join('.')} or newer is missing: ${VARIABLE} names none, there is ${describe(found)} on the PATH, and it could not be installed (${problem}).`,
  );
}

/** Where the variable leads nowhere, no other is taken in silence. */
function installedKubectl() {
  const given = process.env[VARIABLE];
  if (given && !isProgram(given)) throw new Error(`kubectl is missing: ${VARIABLE} names no program (${given}).`);
  return given || programOf('kubectl');
}

/** @returns what went wrong */
function tryToInstall(tell) {
  tell("kubectl: installing it from the system's packages …");
  try {
    install('kubectl');
    return "the system's package is too old";
  } catch (error) {
    return error.message.split('\n')[0];
  }
}

function isNewEnough(program) {
  const [major, minor] = versionOf(program) ?? [0, 0];
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

function describe(program) {
  const version = versionOf(program);
  return version === undefined ? 'none' : `only ${version.join('.')}`;
}

function versionOf(program) {
  if (program === undefined) return undefined;
  const { stdout } = spawnSync(program, ['version', '--client'], { encoding: 'utf8' });
  const found = /v?(\d+)\.(\d+)\.\d+/.exec(stdout ?? '');
  return found === null ? undefined : [Number(found[1]), Number(found[2])];
}

/** Asked only where it is not installed: finding out takes some seconds. */
function needsKubectl(vitestArguments) {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const { stdout } = spawnSync(process.execPath, [vitest, 'list', '--filesOnly', ...vitestArguments], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return stdout.includes(NEEDING_IT);
}
