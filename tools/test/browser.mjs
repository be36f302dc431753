// Provides the browser in which the journeys open pages: the installed one, or one from the system's packages.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../prepare.mjs';
import { isProgram, programOf } from './programs.mjs';
import { canInstall, install } from './system-packages.mjs';

const VARIABLE = 'CHROMIUM_PATH';
const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC_PROGRAMS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
/** The test files that open pages stand in this folder. */
const NEEDING_IT = join('test', 'journeys');

/**
 * Provides a Chromium for the tests that the arguments of vitest select. Nothing is installed where none of them opens a page.
 * @returns its path; undefined where no test needs it
 * @throws Error with one line that says what is missing
 */
export function provideBrowser({ tell, vitestArguments }) {
  const installed = process.env[VARIABLE] ? givenBrowser(process.env[VARIABLE]) : installedBrowser();
  if (installed !== undefined) {
    tell(`Chromium: the one at ${installed}`);
    return installed;
  }
  return needsBrowser(vitestArguments) ? installBrowser(tell) : undefined;
}

function installBrowser(tell) {
  const problem = canInstall() ? tryToInstall(tell) : 'only root can install packages, with apt-get';
  const installed = installedBrowser();
  if (installed !== undefined) return installed;
  throw new Error(
    `Chromium is missing: ${VARIABLE} is not set, none of ${PROGRAMS.join(', ')} is on the PATH, and it could not be installed (${problem}).`,
  );
}

/** @returns what went wrong; undefined where it is installed */
function tryToInstall(tell) {
  tell("Chromium: installing it from the system's packages …");
  try {
    install('browser');
    return undefined;
  } catch (error) {
    return error.message.split('\n')[0];
  }
}

/** Where it leads nowhere, no other browser is taken in silence. */
function givenBrowser(path) {
  if (!isProgram(path)) throw new Error(`Chromium is missing: ${VARIABLE} names no program (${path}).`);
  return path;
}

function installedBrowser() {
  const onPath = PROGRAMS.map((name) => programOf(name)).find((program) => program !== undefined);
  return onPath ?? MAC_PROGRAMS.find(isProgram);
}

/** Asked only where no browser is installed: finding out takes some seconds. */
function needsBrowser(vitestArguments) {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const { stdout } = spawnSync(process.execPath, [vitest, 'list', '--filesOnly', ...vitestArguments], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return stdout.includes(NEEDING_IT);
}
