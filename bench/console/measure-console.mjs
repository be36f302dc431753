// Searches of operators among many users: how long one takes, what it costs the requests of clients, and what the indexes cost a sign-up.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { userSearchRpc } from '#contracts';
import { RabbitTransport, RpcClient } from '#messaging';
import { APP, newBenchRun } from '../bench-run.mjs';
import { CASES } from '../cases.mjs';
import { startServices } from '../contestants.mjs';
import { measure, median, warmUp } from '../load.mjs';

export const USERS = 1_000_000;
const OPERATORS = 8;
const PAGE = 50;
const DEEP_PAGE = 1_000;
/** Beside the requests of clients each operator searches once in this time. */
const SEARCH_PAUSE_MS = 1_000;
const SAMPLE = 2_000;
const INSERTS = 5_000;
const ROUNDS = 5;
const FIRST_NAMES = [
  'ada',
  'Grace',
  'linus',
  'Margaret',
  'ken',
  'barbara',
  'dennis',
  'frances',
  'alan',
  'radia',
  'wei',
  'li',
  'chen',
  'yan',
];
const LAST_NAMES = [
  'lovelace',
  'hopper',
  'torvalds',
  'hamilton',
  'thompson',
  'liskov',
  'ritchie',
  'allen',
  'turing',
  'wang',
  'zhang',
  'liu',
];
const INDEXES = ['users_lower_username_idx', 'users_lower_email_idx'];

/** @param count the number of users @param seconds of each measurement */
export async function measureConsole(count, seconds) {
  const run = await newBenchRun();
  const transport = new RabbitTransport({
    url: run.services.AMQP_URL,
    namespace: run.services.GATEPOST_NAMESPACE,
    connectionName: 'gatepost-bench',
  });
  const database = new pg.Client({ connectionString: run.services.DATABASE_URL });
  try {
    const services = await startServices(run);
    await database.connect();
    process.stderr.write(`console: adds ${count} users\n`);
    await seedNames(database, count);
    const rpc = new RpcClient(transport);
    while (!transport.isConnected()) await sleep(20);
    const operators = new Operators(rpc, await sampleOf(database), await deepPlace(database));
    const search = {};
    for (const kind of ['prefix', 'nothing', 'page 1', `page ${DEEP_PAGE}`])
      search[kind] = await operators.search(kind, seconds);
    process.stderr.write('console: builds the search index\n');
    const indexSeconds = await buildIndex(rpc);
    search.contains = await operators.search('contains', seconds);
    // Parts such as "a@exa" are in words that all addresses have: the trigrams of most of them select no users.
    search.domain = await operators.search('domain', seconds);
    await rpc.call(userSearchRpc.removeIndex, { appId: APP.GATEPOST_APP_ID });
    const beside = {};
    for (const name of ['me', 'login']) beside[name] = await measureBeside(CASES[name], services, operators, seconds);
    const insert = await measureInserts(database);
    return { count, search, indexSeconds, beside, insert };
  } finally {
    await database.end().catch(() => undefined);
    await transport.close();
    await run.stop();
  }
}

/** Eight operators who search at once. */
class Operators {
  constructor(rpc, sample, deepPlace) {
    this.rpc = rpc;
    this.sample = sample;
    this.deepPlace = deepPlace;
  }

  /** @returns the median and the 95th percentile of the milliseconds of a search, and the searches per second */
  async search(kind, seconds) {
    await this.#run(kind, 1);
    const times = await this.#run(kind, seconds);
    return { p50: percentile(times, 0.5), p95: percentile(times, 0.95), perSecond: times.length / seconds };
  }

  /** Searches at the pace of people until the signal comes. */
  async searchUntil(signal) {
    const operator = async (index) => {
      await sleep((index * SEARCH_PAUSE_MS) / OPERATORS);
      while (!signal.aborted) {
        await this.#once('prefix');
        await sleep(SEARCH_PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: OPERATORS }, (_, index) => operator(index)));
  }

  async #run(kind, seconds) {
    const until = performance.now() + seconds * 1_000;
    const times = [];
    const operator = async () => {
      while (performance.now() < until) {
        const startedAt = performance.now();
        // A search that takes longer than three seconds is refused.
        await this.#once(kind).catch((error) => {
          if (error.errorName !== 'QUERY_TIMED_OUT') throw error;
        });
        times.push(performance.now() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: OPERATORS }, operator));
    return times;
  }

  #once(kind) {
    const request = {
      appId: APP.GATEPOST_APP_ID,
      in: 'any',
      mode: 'prefix',
      order: 'newest',
      filters: {},
      limit: PAGE,
    };
    return this.rpc.call(userSearchRpc.search, { ...request, ...this.#askedBy(kind) });
  }

  #askedBy(kind) {
    switch (kind) {
      case 'prefix':
        return { text: beginningOf(any(this.sample)) };
      case 'contains':
        return { mode: 'contains', text: partOf(any(this.sample)) };
      case 'domain':
        return { mode: 'contains', text: partOf(any(this.sample), 'domain') };
      case 'nothing':
        return { text: `zq${Math.floor(Math.random() * 1e9)}` };
      case 'page 1':
        return {};
      default:
        return { after: this.deepPlace };
    }
  }
}

/** A person types at least four characters of a name, an address or a number. */
function beginningOf({ username, email, phone }) {
  const text = any([username, email, phone.slice(3)]);
  return text.slice(0, 4 + Math.floor(Math.random() * (text.length - 4)));
}

/** Five to eight characters from the middle of a name or an address; without the domain, which all addresses share here, or around it. */
function partOf({ username, email }, place) {
  const at = email.indexOf('@');
  const text = place === 'domain' ? email.slice(at - 6) : any([username, email.slice(0, at)]);
  const length = 5 + Math.floor(Math.random() * 4);
  const start = Math.floor(Math.random() * Math.max(1, text.length - length));
  return text.slice(start, start + length);
}

function any(list) {
  return list[Math.floor(Math.random() * list.length)];
}

function percentile(times, share) {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** All sign up after the users of the other cases: the newest users are found by names, too. */
export async function seedNames(database, count) {
  await database.query(
    `INSERT INTO accounts.users
       (app_id, object_id, username, email, email_verified, mobile_phone_number, session_token_hash, sealed_session_token, created_at, updated_at)
     SELECT $1, md5('id' || n)::varchar(24), first || '.' || last || n, last || '.' || first || n || '@example.com', n % 2 = 0,
            '+861' || (ARRAY['3', '5', '8'])[1 + n % 3] || lpad((n * 7919 % 1000000000)::text, 9, '0'), decode(md5('seed' || n), 'hex'), '', moment, moment
       FROM generate_series(1::bigint, $2) AS n,
            LATERAL (SELECT now() + n * interval '30 seconds' AS moment, ($3::text[])[1 + (n * 7 + n / 13) % $5] AS first, ($4::text[])[1 + (n * 5 + n / 17) % $6] AS last) AS made`,
    [APP.GATEPOST_APP_ID, count, FIRST_NAMES, LAST_NAMES, FIRST_NAMES.length, LAST_NAMES.length],
  );
  await database.query('VACUUM ANALYZE');
}

async function sampleOf(database) {
  const { rows } = await database.query(
    `SELECT username, email, mobile_phone_number AS phone FROM accounts.users TABLESAMPLE SYSTEM (2) WHERE mobile_phone_number IS NOT NULL LIMIT $1`,
    [SAMPLE],
  );
  return rows;
}

/** The place before page 1,000. */
async function deepPlace(database) {
  const { rows } = await database.query(
    `SELECT created_at AS at, object_id AS id FROM accounts.users WHERE app_id = $1 ORDER BY created_at DESC, object_id DESC LIMIT 1 OFFSET $2`,
    [APP.GATEPOST_APP_ID, (DEEP_PAGE - 1) * PAGE - 1],
  );
  return { key: rows[0].at.toISOString(), objectId: rows[0].id };
}

async function buildIndex(rpc) {
  const appId = APP.GATEPOST_APP_ID;
  const startedAt = performance.now();
  await rpc.call(userSearchRpc.addIndex, { appId });
  for (;;) {
    const { state, problem } = await rpc.call(userSearchRpc.getIndex, { appId });
    if (state === 'ready') return (performance.now() - startedAt) / 1_000;
    if (state === 'failed') throw new Error(problem);
    await sleep(500);
  }
}

/** Requests per second without and with operators who search meanwhile, round by round in turn. */
async function measureBeside(benchCase, services, operators, seconds) {
  await warmUp(benchCase, services);
  const [alone, beside] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    alone.push((await measure(benchCase, services, seconds)).perSecond);
    const stop = new AbortController();
    const searching = operators.searchUntil(stop.signal);
    beside.push((await measure(benchCase, services, seconds)).perSecond);
    stop.abort();
    await searching;
  }
  return { alone: median(alone), beside: median(beside) };
}

/** The microseconds of an insert of a user within a transaction, with and without the indexes of searches. */
async function measureInserts(database) {
  const [withIndexes, without] = [[], []];
  const { rows: definitions } = await database.query(
    `SELECT indexdef AS definition FROM pg_indexes WHERE schemaname = 'accounts' AND indexname = ANY ($1)`,
    [INDEXES],
  );
  for (let round = 0; round < ROUNDS; round += 1) {
    withIndexes.push(await insertUsers(database, `with${round}`));
    for (const name of INDEXES) await database.query(`DROP INDEX accounts.${name}`);
    without.push(await insertUsers(database, `without${round}`));
    for (const { definition } of definitions) await database.query(definition);
  }
  return { with: median(withIndexes), without: median(without) };
}

async function insertUsers(database, mark) {
  const insert = {
    name: 'bench.insert',
    text: `INSERT INTO accounts.users
             (app_id, object_id, username, email, session_token_hash, sealed_session_token, created_at, updated_at)
           VALUES ($1, $2, $3, $4, $5, '', now(), now())`,
  };
  await database.query('BEGIN');
  const startedAt = performance.now();
  for (let n = 0; n < INSERTS; n += 1) {
    const name = `${any(FIRST_NAMES)}${Math.floor(Math.random() * 1e9)}-${mark}-${n}`;
    const values = [APP.GATEPOST_APP_ID, `${mark}-${n}`, name, `${name}@example.com`, Buffer.from(name)];
    await database.query({ ...insert, values });
  }
  const micros = ((performance.now() - startedAt) * 1_000) / INSERTS;
  await database.query('ROLLBACK');
  await database.query('VACUUM accounts.users');
  return micros;
}

export function printConsoleReport({ count, search, indexSeconds, beside, insert }) {
  const ms = (time) => `${time.toFixed(1)} ms`.padStart(10);
  const searches = Object.entries(search).map(
    ([kind, { p50, p95, perSecond }]) =>
      `${kind.padEnd(12)}${ms(p50)}${ms(p95)}${String(Math.round(perSecond)).padStart(8)}/s\n`,
  );
  const rates = Object.entries(beside).map(([name, rate]) => {
    const change = ((rate.beside / rate.alone - 1) * 100).toFixed(1);
    return `${name.padEnd(12)}${Math.round(rate.alone)}/s alone, ${Math.round(rate.beside)}/s beside them (${change} %)\n`;
  });
  process.stdout.write(
    [
      `searches among ${count} users by ${OPERATORS} operators at once, pages of ${PAGE}: median, 95th percentile, rate\n`,
      ...searches,
      `the index of "contains" was built in ${indexSeconds.toFixed(0)} s\n`,
      `requests while ${OPERATORS} operators search once a second each\n`,
      ...rates,
      `insert of a user: ${insert.without.toFixed(0)} µs without the two indexes of prefixes, ${insert.with.toFixed(0)} µs with them\n`,
    ].join(''),
  );
}
