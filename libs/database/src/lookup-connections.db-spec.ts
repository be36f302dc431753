import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually, newDatabase, TcpProxy } from '#testing';
import { LookupConnections } from './connections.js';
import { Database } from './database.js';
import { MismatchedReply } from './statement.js';

const ROWS = 200;
/** Several times what the two connections answer in one read of the socket. */
const LOOKUPS = 3_000;
const VALUES = `SELECT number, label, NULL::text AS nothing, '2026-01-02T03:04:05.678Z'::timestamptz AS at, '{"a":[1,"ü"]}'::jsonb AS document,
                       '\\x00ff'::bytea AS bytes, true AS flag, '{a,"b,c"}'::text[] AS list, 12345678901::bigint AS large FROM things WHERE number = $1`;

/** Makes node-postgres take the replies to two queries for each other. Its queue holds those behind the one whose reply it awaits. */
async function swapFirstTwo(client: unknown): Promise<void> {
  const { _sentQueryQueue: sent } = client as { readonly _sentQueryQueue: unknown[] };
  for (let turn = 0; sent.length < 3 && turn < 100; turn += 1) await Promise.resolve();
  const [first, second, third] = sent;
  sent.splice(0, 3, second, first, third);
}

describe('look-ups over shared connections', () => {
  let proxy: TcpProxy;
  let url: string;
  let database: Database;

  const find = (number: number) =>
    database.lookUp<{ number: number; label: string }>(
      'SELECT number, label FROM things WHERE number = $1',
      [number],
      'find',
    );
  const connections = () =>
    database.query<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE application_name = 'lookups'");
  const unavailable: unknown = expect.objectContaining({ errorName: 'SERVICE_UNAVAILABLE' });
  const mismatched = { status: 'rejected', reason: { message: new MismatchedReply().message } };
  const open = (): Database =>
    new Database({
      url: proxy.urlFor(url),
      schema: 'sample',
      migrations: [],
      poolSize: 2,
      applicationName: 'lookups',
      statementTimeoutMs: 500,
    });

  beforeEach(async () => {
    url = await newDatabase();
    proxy = await TcpProxy.to(new URL(url), 5432);
    database = open();
    await database.query('CREATE TABLE things (number int PRIMARY KEY, label text)');
    await database.query("INSERT INTO things SELECT n, 'label ' || n FROM generate_series(1, $1::int) AS n", [ROWS]);
  });
  afterEach(async () => {
    proxy.bringBack();
    await database.close();
    await proxy.close();
  });

  it('get their own rows, thousands at once over two connections', async () => {
    const numbers = Array.from({ length: LOOKUPS }, (_, index) => ((index * 7_919) % ROWS) + 1);
    const found = await Promise.all(numbers.map(find));
    expect(found).toEqual(numbers.map((number) => [{ number, label: `label ${number}` }]));
    // The pool has one more, for the statement that counts.
    expect((await connections()).length).toBeLessThanOrEqual(3);
  });

  it('have the values that a statement without a name has, at each run', async () => {
    const usual = await database.query(VALUES, [7]);
    for (let run = 0; run < 3; run += 1) expect(await database.lookUp(VALUES, [7], 'values')).toEqual(usual);
    for (let run = 0; run < 3; run += 1) expect(await database.query(VALUES, [7], 'values')).toEqual(usual);
    expect(usual).toMatchObject([{ nothing: null, at: new Date('2026-01-02T03:04:05.678Z'), flag: true }]);
  });

  it('need no connection of the pool where their statement has a name', async () => {
    const usual = await database.query(VALUES, [7]);
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const held = [1, 2].map(() => database.transaction(() => gate));
    let isUnnamedAnswered = false;
    const unnamed = database.byKey.query(VALUES, [7]).then(() => (isUnnamedAnswered = true));
    expect(await database.byKey.query(VALUES, [7], 'values')).toEqual(usual);
    expect(isUnnamedAnswered).toBe(false);
    release();
    await Promise.all([unnamed, ...held]);
  });

  it('find nothing where there is no row', async () => {
    for (let run = 0; run < 3; run += 1) expect(await find(ROWS + 1)).toEqual([]);
  });

  it('refuse the reply to another look-up, and close the connection', async () => {
    const connect = vi.spyOn(Client.prototype, 'connect');
    const logged = vi.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const lookups = new LookupConnections({ connectionString: url }, 1);
    const findLabel = (number: number) => lookups.find('SELECT label FROM things WHERE number = $1', [number], 'label');
    try {
      expect(await findLabel(1)).toEqual([{ label: 'label 1' }]);
      const outcomes = Promise.allSettled([findLabel(2), findLabel(ROWS + 1), findLabel(3), findLabel(4)]);
      await swapFirstTwo(connect.mock.contexts[0]);
      const [own, ...others] = await outcomes;
      expect(own).toEqual({ status: 'fulfilled', value: [{ label: 'label 2' }] });
      expect(others.slice(0, 2)).toMatchObject([mismatched, mismatched]);
      // The connection may have received the reply to the last one before its end.
      if (others[2].status === 'fulfilled') expect(others[2].value).toEqual([{ label: 'label 4' }]);
      expect(logged).toHaveBeenCalled();
      expect(await findLabel(5)).toEqual([{ label: 'label 5' }]);
    } finally {
      vi.restoreAllMocks();
      await lookups.end();
    }
  });

  it('that fail leave the others alone', async () => {
    const divide = (by: number) => database.lookUp<{ result: number }>('SELECT 12 / $1::int AS result', [by], 'divide');
    const outcomes = await Promise.allSettled([3, 0, 4, 0, 0, 6].map(divide));
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(await divide(2)).toEqual([{ result: 6 }]);
  });

  it('see what a transaction has committed before', async () => {
    for (let round = 0; round < 20; round += 1) {
      await database.transaction((tx) => tx.query('UPDATE things SET label = $1 WHERE number = 1', [`round ${round}`]));
      expect(await find(1)).toEqual([{ number: 1, label: `round ${round}` }]);
    }
  });

  it('fail with their connection, and have a new one next time', async () => {
    await Promise.all([find(1), find(2)]);
    const slow = database.lookUp('SELECT pg_sleep($1)', [0.4], 'sleep');
    const behind = Promise.allSettled([slow, ...Array.from({ length: 20 }, () => find(3))]);
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lookups' AND pid <> pg_backend_pid()",
    );
    for (const outcome of await behind) if (outcome.status === 'rejected') expect(outcome.reason).toEqual(unavailable);
    await expect(slow).rejects.toEqual(unavailable);
    // The other connection may not have received its end yet.
    await eventually(async () => {
      expect(await find(3)).toEqual([{ number: 3, label: 'label 3' }]);
    });
  });

  it('are SERVICE_UNAVAILABLE while PostgreSQL is away, and work when it is back', async () => {
    await find(1);
    proxy.takeAway();
    await expect(find(1)).rejects.toEqual(unavailable);
    await expect(find(1)).rejects.toEqual(unavailable);
    proxy.bringBack();
    await eventually(async () => {
      expect(await find(1)).toEqual([{ number: 1, label: 'label 1' }]);
    });
  });

  it('end at the time-out of statements behind a lock of the whole table', async () => {
    await find(1);
    await database.transaction(async (tx) => {
      await tx.query('LOCK TABLE things IN ACCESS EXCLUSIVE MODE');
      const outcomes = await Promise.allSettled([find(1), find(2), find(3), find(4)]);
      expect(outcomes).toEqual(outcomes.map(() => ({ status: 'rejected', reason: unavailable })));
    });
    expect(await find(1)).toHaveLength(1);
  });

  it('are refused after the end', async () => {
    const other = open();
    await other.close();
    await expect(other.lookUp('SELECT 1', [], 'one')).rejects.toEqual(unavailable);
  });

  it('are broken at the end where PostgreSQL is unreachable', async () => {
    const other = open();
    const opened = await Promise.all([1, 2].map((value) => other.lookUp('SELECT $1::int AS value', [value], 'value')));
    expect(opened).toEqual([[{ value: 1 }], [{ value: 2 }]]);
    proxy.silence();
    const lost = other.lookUp('SELECT 1', [], 'one').catch((error: unknown) => error);
    const began = performance.now();
    await other.close();
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(await lost).toEqual(unavailable);
  });

  it('run statements that return no rows, again and again', async () => {
    const rename = 'UPDATE things SET label = $2 WHERE number = $1';
    for (const label of ['a', 'b', 'c']) expect(await database.query(rename, [5, label], 'rename')).toEqual([]);
    expect(await find(5)).toEqual([{ number: 5, label: 'c' }]);
  });
});
