// The parts that are programs: each is looked for where it usually stands, and asked for its version.
import { spawnSync } from 'node:child_process';
import { chromium } from 'playwright-core';
import { privatePrograms } from './private-servers.mjs';
import { isProgram, programOf } from './programs.mjs';

const VERSION_TIMEOUT_MS = 20_000;
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC_BROWSERS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
/** Since then its kustomize knows components and patches as the manifests write them. */
const OLDEST_KUBECTL = [1, 27];
const DUMP_PROGRAMS = ['pg_dump', 'pg_restore'];

/** Looks for the program of a part. @returns its path, or why there is none that can be used */
export const installedPrograms = {
  browser: findBrowser,
  kubectl: findKubectl,
  'postgresql-client': findDump,
  'rabbitmq-server': () => found(privatePrograms.rabbitmq(), 'rabbitmq-server is not installed'),
  'redis-server': () => found(programOf('redis-server'), 'redis-server is not installed'),
};

/** Whether a kubectl of that version, such as 1.32.3, renders the manifests. */
export function isKubectlNewEnough(version) {
  const [major, minor] = version.replace(/^\D+/, '').split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_KUBECTL;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** @returns the major version of a program of PostgreSQL */
export function majorOf(program) {
  return Number(/(\d+)(?:\.\d+)?\s*(?:\(|$)/.exec(versionOf(program) ?? '')?.[1]);
}

function findBrowser() {
  // Where the variable leads nowhere, no other browser is taken in silence.
  const given = process.env.CHROMIUM_PATH;
  if (given) return found(runs(given) ? given : undefined, `CHROMIUM_PATH names no program that runs (${given})`);
  const places = [...BROWSERS.map((name) => programOf(name)), ...MAC_BROWSERS, chromium.executablePath()];
  // Ubuntu's package is a script that only says where to get the program.
  const path = places.find((place) => place !== undefined && runs(place));
  return found(path, `CHROMIUM_PATH is not set, and none of ${BROWSERS.join(', ')} is on the PATH and runs`);
}

function findKubectl() {
  const given = process.env.KUBECTL_PATH;
  const path = given || programOf('kubectl');
  if (path === undefined) return found(undefined, 'KUBECTL_PATH is not set, and none is on the PATH');
  const version = /v?(\d+\.\d+\.\d+)/.exec(versionOf(path, 'version', '--client') ?? '')?.[1];
  if (version === undefined) return found(undefined, `${path} is none, or does not run`);
  const problem = `${path} is of version ${version}, and ${OLDEST_KUBECTL.join('.')} or newer is needed`;
  return found(isKubectlNewEnough(version) ? path : undefined, problem);
}

function findDump() {
  const missing = DUMP_PROGRAMS.filter((name) => programOf(name) === undefined);
  return found(
    missing.length === 0 ? programOf('pg_dump') : undefined,
    `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not on the PATH`,
  );
}

function found(path, problem) {
  return path === undefined ? { problem } : { path };
}

function runs(path) {
  return isProgram(path) && versionOf(path) !== undefined;
}

/** The version that the program prints; undefined if it does not run. */
function versionOf(path, ...args) {
  const asked = args.length > 0 ? args : ['--version'];
  const { status, stdout } = spawnSync(path, asked, { encoding: 'utf8', timeout: VERSION_TIMEOUT_MS });
  return status === 0 ? stdout.trim() : undefined;
}
