import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { migrate } from '#database';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { newDatabase } from '#testing';
import type { ConsoleConfig } from '../console.config.js';
import { ConsoleDatabase, consoleDatabase } from '../console.database.js';
import { ConsoleCleanup } from './audit.repository.js';

let database: ConsoleDatabase;

beforeAll(async () => {
  const options = consoleDatabase(await newDatabase(), 2);
  await migrate(options);
  database = new ConsoleDatabase(options);
});
afterAll(() => database.close());

it('deletes old entries of the audit where the statement on sessions fails', async () => {
  await database.query(
    `INSERT INTO console.audit (id, begun_at, ended_at, operator_name, way, action, change, outcome, request_id)
     SELECT gen_random_uuid(), now() - days * interval '1 day', now(), 'Ada', 'console', 'signIn', '{}', 'done', 'r'
       FROM unnest(ARRAY[29, 31]) AS days`,
  );
  const query: ConsoleDatabase['query'] = database.query.bind(database);
  const failing = vi
    .spyOn(database, 'query')
    .mockImplementation((sql, ...rest) =>
      sql.includes('console.sessions') ? Promise.reject(appError('SERVICE_UNAVAILABLE')) : query(sql, ...rest),
    );
  const cleanup = new ConsoleCleanup(database, new Metrics(), { auditDays: 30 } as ConsoleConfig);
  await expect(cleanup.processBatch()).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
  failing.mockRestore();
  const left = await database.query('SELECT 1 FROM console.audit');
  expect(left).toHaveLength(1);
});
