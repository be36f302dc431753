import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { InProcessTransport } from '#messaging';
import { Metrics } from '#observability';
import { eventually, newDatabase } from '#testing';
import { Database } from './database.js';
import { addOutboxLease, addOutboxOrigin, createOutboxTables } from './outbox.js';
import { OutboxRelay } from './outbox.relay.js';

/** More than one batch. */
const REFUSED = 150;

describe('the outbox inside a process', () => {
  let database: Database;
  let relay: OutboxRelay;
  let handled: unknown[];
  const refuse = vi.fn();

  const add = (pattern: string, count: number) =>
    database.query(
      'INSERT INTO sample.outbox (pattern, payload) SELECT $1, to_jsonb(n) FROM generate_series(1, $2::int) AS n',
      [pattern, count],
    );
  const left = () =>
    database.query<{ pattern: string; attempts: number; count: number }>(
      'SELECT pattern, attempts, count(*)::int AS count FROM sample.outbox GROUP BY pattern, attempts ORDER BY pattern',
    );

  beforeEach(async () => {
    handled = [];
    const options = { schema: 'sample', migrations: [], poolSize: 3, applicationName: 'test' };
    database = new Database({ ...options, url: await newDatabase() });
    const tables = [...createOutboxTables('sample'), addOutboxOrigin('sample'), addOutboxLease('sample')];
    for (const statement of ['CREATE SCHEMA sample', ...tables]) await database.query(statement);
    const transport = new InProcessTransport();
    const server = transport.createServer();
    server.addHandler('good.v1', (data: unknown) => Promise.resolve(handled.push(data)), true);
    server.addHandler('bad.v1', refuse, true);
    relay = new OutboxRelay(database, transport, new Metrics(), 'sample');
  });
  afterEach(async () => {
    await relay.onApplicationShutdown();
    await database.close();
  });

  it('relays the events behind those that their handlers refuse, and retries these later', async () => {
    refuse.mockRejectedValue(new Error('the token was sealed with another secret'));
    await add('bad.v1', REFUSED);
    await add('good.v1', 50);
    relay.onApplicationBootstrap();
    await eventually(() => {
      expect(handled).toHaveLength(50);
    });
    const rows = await left();
    expect(rows.every(({ pattern, attempts }) => pattern === 'bad.v1' && attempts > 0)).toBe(true);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(REFUSED);
  });

  it('counts no attempt while handlers are unavailable', async () => {
    refuse.mockRejectedValue(appError('SERVICE_UNAVAILABLE'));
    await add('bad.v1', REFUSED);
    relay.onApplicationBootstrap();
    await eventually(() => {
      expect(refuse.mock.calls.length).toBeGreaterThanOrEqual(100);
    });
    expect(await left()).toEqual([{ pattern: 'bad.v1', attempts: 0, count: REFUSED }]);
  });
});
