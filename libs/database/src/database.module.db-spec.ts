import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import { Metrics, ObservabilityModule, Readiness } from '#observability';
import { newDatabase } from '#testing';
import { Database, type DatabaseOptions } from './database.js';
import { DatabaseModule } from './database.module.js';
import { migrate } from './migrate.js';

class OtherDatabase extends Database {}

@Injectable()
class User {
  constructor(
    readonly database: Database,
    readonly other: OtherDatabase,
  ) {}
}

const nameOf = async (database: Database) => {
  const [row] = await database.query<{ name: string }>("SELECT current_setting('application_name') AS name");
  return row?.name;
};

describe('two databases in one process', () => {
  const start = async (first: DatabaseOptions, second: DatabaseOptions) => {
    @Module({
      imports: [
        ObservabilityModule.forRoot(new Metrics()),
        DatabaseModule.forRoot(first),
        DatabaseModule.forRoot(second, OtherDatabase),
      ],
      providers: [User],
    })
    class Root {}
    return NestFactory.createApplicationContext(Root, { logger: false });
  };

  it('coexist, report their migration state separately, and are both closed', async () => {
    const url = await newDatabase();
    const options = (schema: string) => ({
      url,
      schema,
      migrations: [],
      poolSize: 2,
      applicationName: `test-${schema}`,
    });
    const app = await start(options('one'), options('two'));
    const { database, other } = app.get(User);
    const problems = () => app.get(Readiness).problems();
    expect(await Promise.all([nameOf(database), nameOf(other)])).toEqual(['test-one', 'test-two']);
    expect(await problems()).toEqual([
      expect.stringMatching(/^postgresql \(one\): schema one is not migrated/),
      expect.stringMatching(/^postgresql \(two\): schema two is not migrated/),
    ]);
    await migrate(options('one'));
    expect(await problems()).toEqual([expect.stringMatching(/^postgresql \(two\): /)]);
    await migrate(options('two'));
    expect(await problems()).toEqual([]);
    await app.close();
    for (const closed of [database, other])
      await expect(closed.query('SELECT 1')).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
  });
});
