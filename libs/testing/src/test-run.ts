import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

/** The servers of a test run, and the names and the folder that are its own. `npm test` makes them and removes them. */
export interface TestRun {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly amqpUrl: string;
  /** Begins the name of every database of the run. */
  readonly database: string;
  /** Begins every namespace of the run. */
  readonly namespace: string;
  readonly folder: string;
}

/**
 * The run that this test belongs to. To read the URL of a server that tools/test/needs.mjs does not declare for the file is an error.
 * @throws Error where the test was not started by `npm test`
 */
export function testRun(): TestRun {
  return {
    get databaseUrl() {
      return variable('DATABASE_URL');
    },
    get redisUrl() {
      return variable('REDIS_URL');
    },
    get amqpUrl() {
      return variable('AMQP_URL');
    },
    database: variable('TEST_DATABASE'),
    namespace: variable('TEST_NAMESPACE'),
    folder: variable('TEST_FOLDER'),
  };
}

/** Something besides Node and npm that tests need; tools/test/needs.mjs says which file needs which. */
export type Part =
  | 'browser'
  | 'kubectl'
  | 'postgresql'
  | 'postgresql-client'
  | 'rabbitmq'
  | 'rabbitmq-server'
  | 'redis'
  | 'redis-server';

/** The servers of the test run, for services. */
export const SERVERS: readonly Part[] = ['postgresql', 'redis', 'rabbitmq'];

/**
 * Whether this machine has the parts: suites that need one are left out without it, and `npm test` lists them.
 * @throws Error where tools/test/needs.mjs does not declare that the file uses them: `npm test` could not list it
 */
export function isProvided(...parts: readonly Part[]): boolean {
  const listed = (name: string) => (process.env[name] ?? '').split(',');
  const undeclared = parts.find((part) => !listed('TEST_DECLARED_PARTS').includes(part));
  if (undeclared !== undefined) throw new Error(`declare in tools/test/needs.mjs that this file uses ${undeclared}`);
  return parts.every((part) => listed('TEST_PARTS').includes(part));
}

/** The program of the browser that opens pages. @throws Error where the test was not started by `npm test` */
export function browserProgram(): string {
  return variable('TEST_BROWSER');
}

/** How large a test is that can also be run by hand with more: what TEST_SCALE says (`rounds=5,devices=1000`), else what `npm test` runs. */
export function scaleOfRun(name: string, usual: number): number {
  const [, value] = new RegExp(`(?:^|,)${name}=(\\d+)`).exec(process.env['TEST_SCALE'] ?? '') ?? [];
  return value === undefined ? usual : Number(value);
}

/** The program that renders manifests. @throws Error where the test was not started by `npm test` */
export function kubectlProgram(): string {
  return variable('TEST_KUBECTL');
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new Error(
      `${name} is not set: run the tests by "npm test -- <file>", and declare in tools/test/needs.mjs what the file needs`,
    );
  return value;
}

const unique = (): string => randomBytes(4).toString('hex');

const namespaces = new Set<string>();

/** Those that the test file has made. */
export function ownNamespaces(): readonly string[] {
  return [...namespaces];
}

/** A namespace of its own; what stands under it at the broker is deleted after the file's tests, at the latest after the run. */
export function newNamespace(): string {
  const { namespace, folder } = testRun();
  const name = `${namespace}-${unique()}`;
  namespaces.add(name);
  mkdirSync(join(folder, 'namespaces'), { recursive: true });
  writeFileSync(join(folder, 'namespaces', name), '');
  return name;
}

/** Creates an empty database, dropped after the run. @returns its URL */
export async function newDatabase(): Promise<string> {
  const { databaseUrl, database } = testRun();
  const name = `${database}_${unique()}`;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name}`);
    // As for the run's own database (tools/test/cleanup.mjs).
    await client.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  } finally {
    await client.end();
  }
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** A folder that PostgreSQL's user can enter too, removed after the run. */
export function newFolder(name: string): string {
  const folder = mkdtempSync(join(testRun().folder, `${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}
