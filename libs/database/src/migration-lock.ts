import { setTimeout as sleep } from 'node:timers/promises';

/** Any number: all migrators of all schemas of one database take their turns under it. */
const MIGRATION_LOCK = 7_236_401;
const POLL_MS = 200;

/** Who runs statements on a connection of its own: the lock belongs to the connection. */
export interface LockHolder {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
}

interface Migrator {
  readonly pid: number;
  readonly application: string;
  readonly address: string;
  readonly seconds: number;
}

/**
 * Waits for its turn to migrate.
 * @throws Error that names who migrates, where that takes longer than `waitMs`
 */
export async function takeMigrationLock(holder: LockHolder, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (!(await tryToLock(holder))) {
    if (performance.now() > deadline) throw new Error(await describeMigrator(holder));
    await sleep(POLL_MS);
  }
}

/** Lets the next one migrate. A connection that is lost has let go already. */
export async function releaseMigrationLock(holder: LockHolder): Promise<void> {
  await holder.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
}

async function tryToLock(holder: LockHolder): Promise<boolean> {
  const rows = (await holder.query('SELECT pg_try_advisory_lock($1) AS locked', [MIGRATION_LOCK])) as {
    readonly locked: boolean;
  }[];
  return rows[0]?.locked === true;
}

async function describeMigrator(holder: LockHolder): Promise<string> {
  const rows = (await holder.query(
    `SELECT a.pid, a.application_name AS application, coalesce(host(a.client_addr), 'the same machine') AS address,
            extract(epoch FROM now() - a.backend_start)::int AS seconds
       FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = $1 AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [MIGRATION_LOCK],
  )) as Migrator[];
  const [migrator] = rows;
  if (migrator === undefined) return 'another migration has just ended: please try again';
  const { pid, application, address, seconds } = migrator;
  return `another migration runs: PostgreSQL's process ${pid} (${application}, from ${address}, for ${seconds} s). If nobody works there any more, end it with "SELECT pg_terminate_backend(${pid})"`;
}
