import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from '#bootstrap';

/** An unprivileged user of this machine. */
export interface PostgresUser {
  readonly uid: number;
  readonly gid: number;
}

/** Users that exist on every usual system; PostgreSQL's own is preferred. */
const CANDIDATES = ['postgres', 'nobody'];

/** As whom PostgreSQL must run: it refuses root. Undefined: as ourselves. */
export function postgresUser(): PostgresUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of CANDIDATES) {
    const [, , uid, gid] = users.find(([candidate]) => candidate === name) ?? [];
    if (Number(uid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new StartError(
    'PostgreSQL cannot run as root and this machine has neither a user "postgres" nor "nobody". Start Gatepost as an ordinary user.',
  );
}

/** Whether the user can enter the folder and everything above it. */
export function canReach(user: PostgresUser, folder: string): boolean {
  for (let path = folder; ; path = dirname(path)) {
    if (!canEnter(user, path)) return false;
    if (path === dirname(path)) return true;
  }
}

function canEnter({ uid, gid }: PostgresUser, folder: string): boolean {
  const { mode, uid: owner, gid: group } = statSync(folder);
  if (owner === uid) return (mode & 0o100) !== 0;
  if (group === gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}
