import { chownSync } from 'node:fs';
import type { PostgresBinaries } from './postgres-binaries.js';
import type { PostgresUser } from './postgres-user.js';

export const SUPERUSER = 'gatepost';

/** All that its programs see: variables such as PGOPTIONS or LC_COLLATE of whoever starts us must not change the cluster. */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };

export interface PostgresOptions {
  readonly binaries: PostgresBinaries;
  /** The cluster's own folder. */
  readonly folder: string;
  readonly password: string;
  readonly logFile: string;
  readonly user: PostgresUser | undefined;
}

/** How each of its programs is run: its working folder must be one that its user can enter. */
export function spawnOptions({ user }: PostgresOptions): { cwd: string; env: Record<string, string> } {
  return { cwd: '/', env: ENVIRONMENT, ...user };
}

export function giveToUser({ user }: PostgresOptions, ...paths: string[]): void {
  if (user !== undefined) for (const path of paths) chownSync(path, user.uid, user.gid);
}
