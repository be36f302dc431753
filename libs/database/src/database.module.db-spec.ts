import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { InjectRepository } from '@nestjs/typeorm';
import pg from 'pg';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { Metrics, ObservabilityModule, ProcessInfo, Readiness } from '#observability';
import { newDatabase } from '#testing';
import type { DatabaseOptions } from './data-source.js';
import { Database } from './database.js';
import { DatabaseModule } from './database.module.js';
import { migrate } from './migrate.js';

class OtherDatabase extends Database {}

@Entity('notes')
class NoteEntity {
  @PrimaryColumn('text')
  id!: string;

  @Column('text')
  text!: string;
}

@Injectable()
class User {
  constructor(
    readonly database: Database,
    readonly other: OtherDatabase,
    @InjectRepository(NoteEntity, 'one') readonly notes: Repository<NoteEntity>,
    @InjectRepository(NoteEntity, 'two') readonly otherNotes: Repository<NoteEntity>,
  ) {}
}

const nameOf = async (database: Database) => {
  const [row] = await database.query<{ name: string }>("SELECT current_setting('application_name') AS name");
  return row?.name;
};

/** Of all clients of the database, which connect again with its new settings. */
async function endConnections(url: string): Promise<void> {
  const administrator = new pg.Client({ connectionString: url });
  await administrator.connect();
  await administrator.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await administrator.end();
}

describe('two databases in one process', () => {
  const start = async (first: DatabaseOptions, second: DatabaseOptions) => {
    const module = await Test.createTestingModule({
      imports: [
        ObservabilityModule.forRoot(new Metrics()),
        DatabaseModule.forRoot(first),
        DatabaseModule.forRoot(second, OtherDatabase),
      ],
      providers: [User],
    }).compile();
    return module.init();
  };

  it('have their own readiness, repositories and connections, and are both closed', async () => {
    const url = await newDatabase();
    const options = (schema: string) => ({
      url,
      schema,
      migrations: [],
      entities: [NoteEntity],
      poolSize: 2,
      applicationName: `test-${schema}`,
    });
    const app = await start(options('one'), options('two'));
    const { database, other, notes, otherNotes } = app.get(User);
    const problems = () => app.get(Readiness).problems();
    const readOnly = async () =>
      (await app.get(ProcessInfo).servers()).map(({ facts }) => facts?.settings?.['readOnly']);
    expect(await Promise.all([nameOf(database), nameOf(other)])).toEqual(['test-one', 'test-two']);
    expect(await problems()).toEqual([
      expect.stringMatching(/^postgresql \(one\): schema one is not migrated/),
      expect.stringMatching(/^postgresql \(two\): schema two is not migrated/),
    ]);
    expect(await app.get(Readiness).fitness()).toBe('unfit');
    await migrate(options('one'));
    expect(await problems()).toEqual([expect.stringMatching(/^postgresql \(two\): /)]);
    await migrate(options('two'));
    expect([await problems(), await app.get(Readiness).fitness()]).toEqual([[], 'fit']);
    await database.query('ALTER TABLE one.migrations RENAME COLUMN name TO other');
    expect(await problems()).toEqual([
      expect.stringMatching(/^postgresql \(one\): the migrations of schema one cannot be read: SQLSTATE 42703 /),
    ]);
    for (const schema of ['one', 'two'])
      await database.query(`CREATE TABLE ${schema}.notes (id text PRIMARY KEY, text text NOT NULL)`);
    await notes.insert({ id: 'a', text: 'of one' });
    await otherNotes.insert({ id: 'a', text: 'of two' });
    expect([await notes.find(), await otherNotes.find()]).toEqual([
      [{ id: 'a', text: 'of one' }],
      [{ id: 'a', text: 'of two' }],
    ]);
    expect(await readOnly()).toEqual(['off', 'off']);
    await database.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`);
    await endConnections(url);
    expect(await readOnly()).toEqual(['on', 'on']);
    await app.close();
    for (const closed of [database, other])
      await expect(closed.query('SELECT 1')).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
  });
});
