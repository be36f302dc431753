// Installs programs from the system's packages, where that is possible: as root on Debian and its relatives.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

const PACKAGES = {
  postgresql: ['postgresql'],
  redis: ['redis-server'],
  rabbitmq: ['rabbitmq-server'],
  browser: ['chromium'],
  kubectl: ['kubernetes-client'],
};
/** Another installation may be under way, such as the system's own updates: so many seconds for it to end. */
const LOCK_SECONDS = 120;
const START_POLICY = '/usr/sbin/policy-rc.d';

/** Whether packages can be installed here. */
export function canInstall() {
  return process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0;
}

/** Installs the program of a kind of server, the browser, or kubectl. The system's own server is not started: tests have one of their own. */
export function install(kind) {
  const hadPolicy = existsSync(START_POLICY);
  if (!hadPolicy) writeFileSync(START_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: 'pipe' };
    const patience = ['-o', `DPkg::Lock::Timeout=${LOCK_SECONDS}`];
    const wanted = ['install', '--yes', '--quiet', '--no-install-recommends', ...patience, ...PACKAGES[kind]];
    // The lists of packages may be missing or old: fetched only where it does not work without.
    if (spawnSync('apt-get', wanted, options).status === 0) return;
    execFileSync('apt-get', ['update', '--quiet'], options);
    execFileSync('apt-get', wanted, options);
  } finally {
    if (!hadPolicy) rmSync(START_POLICY, { force: true });
  }
}
