// Installs programs from the system's packages, where that is possible: as root on Debian and its relatives.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

/** Another installation may be under way, such as the system's own updates: so many seconds for it to end. */
const LOCK_SECONDS = 120;
const PATIENCE = ['-o', `DPkg::Lock::Timeout=${LOCK_SECONDS}`];
const START_POLICY = '/usr/sbin/policy-rc.d';
const OPTIONS = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: 'pipe', encoding: 'utf8' };

/** Whether packages can be installed here. */
export function canInstall() {
  return process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0;
}

/** Fetches the lists of packages. @throws Error where they cannot be fetched */
export function updateLists() {
  runAptGet('update', '--quiet');
}

/** @returns the version that would be installed; undefined where the system has no such package */
export function candidateOf(name) {
  const { stdout } = spawnSync('apt-cache', ['policy', name], { ...OPTIONS, env: { ...OPTIONS.env, LC_ALL: 'C' } });
  const [, version] = /Candidate: (?!\(none\))(\S+)/.exec(stdout ?? '') ?? [];
  return version;
}

/** Installs a package. The system's own server is not started: tests have one of their own. @throws Error with what apt-get says */
export function install(name) {
  const hadPolicy = existsSync(START_POLICY);
  if (!hadPolicy) writeFileSync(START_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    runAptGet('install', '--yes', '--quiet', '--no-install-recommends', ...PATIENCE, name);
  } finally {
    if (!hadPolicy) rmSync(START_POLICY, { force: true });
  }
}

function runAptGet(...args) {
  try {
    execFileSync('apt-get', args, OPTIONS);
  } catch (error) {
    const said = String(error.stderr ?? '').trim();
    throw new Error(said.split('\n')[0] || error.message, { cause: error });
  }
}
