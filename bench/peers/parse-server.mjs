// Parse Server on PostgreSQL, with the indexes that it does not make itself: the best that an operator gets out of it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { ROOT } from '../../tools/prepare.mjs';
import { answering, APP, freePort } from '../bench-run.mjs';
import { serverProcesses } from '../contestants.mjs';
import { SEEDED_USERS } from '../seed.mjs';

const VERSION = '9.10.0';
/** Of its own: Gatepost neither depends on it nor packs it. */
const FOLDER = join(ROOT, 'bench', 'peers', 'installed');
const INDEXES = [
  'CREATE INDEX ON "_Session" ("sessionToken")',
  'CREATE INDEX ON "_Session" ("user")',
  'CREATE INDEX ON "_User" ("number")',
];

/** The name of Parse Server in reports. */
export const PARSE_SERVER = `Parse Server ${VERSION}`;

/** Installs it where this version is not there yet. */
export function installParseServer() {
  const manifest = join(FOLDER, 'node_modules', 'parse-server', 'package.json');
  if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === VERSION) return;
  process.stderr.write(`Installing ${PARSE_SERVER} into bench/peers/installed …\n`);
  mkdirSync(FOLDER, { recursive: true });
  const options = ['--prefix', FOLDER, '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', ['install', ...options, `parse-server@${VERSION}`], { stdio: 'inherit', cwd: FOLDER });
}

/** How it is started on a database, and how one speaks to it. */
export async function parseServer(run) {
  const port = await freePort();
  const databaseUrl = await run.createDatabase('parse');
  const keys = { 'x-parse-application-id': APP.GATEPOST_APP_ID, 'x-parse-rest-api-key': APP.GATEPOST_APP_KEY };
  const url = `http://127.0.0.1:${port}`;
  return {
    kind: 'parse',
    url,
    keys,
    masterHeaders: { ...keys, 'x-parse-master-key': APP.GATEPOST_MASTER_KEY },
    sessionHeader: 'x-parse-session-token',
    servers: serverProcesses('DATABASE_URL'),
    start: async () => {
      const child = run.launch(
        'bench/peers/parse-process.mjs',
        {
          PEERS_FOLDER: join(FOLDER, '/'),
          DATABASE_URL: databaseUrl,
          PORT: port,
          APP_ID: APP.GATEPOST_APP_ID,
          REST_KEY: APP.GATEPOST_APP_KEY,
          MASTER_KEY: APP.GATEPOST_MASTER_KEY,
        },
        { stdio: ['ignore', 'ignore', 'ignore'] },
      );
      await answering(`${url}/1.1/health`, (response) => response.ok);
      return [child];
    },
    seed: () => seed(databaseUrl),
  };
}

/** The same users as the others have. */
async function seed(databaseUrl) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (const index of INDEXES) await client.query(index);
    await client.query(
      `INSERT INTO "_User" ("objectId", username, "number", "group", nickname, "createdAt", "updatedAt")
       SELECT lpad(to_hex(n), 10, '0'), 'bulk' || n, n, n % 100, 'User ' || n, moment, moment
         FROM generate_series(1::bigint, $1) AS n, LATERAL (SELECT now() - n * interval '1 second' AS moment) AS times`,
      [SEEDED_USERS],
    );
    await client.query('VACUUM ANALYZE "_User"');
  } finally {
    await client.end();
  }
}
