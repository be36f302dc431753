import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseOptions, migrate, SnakeNames } from '#database';
import { newDatabase } from '#testing';
import { accountsDatabase } from '../../../accounts/src/accounts.database.js';
import { authLinkingDatabase } from '../../../auth-linking/src/auth-linking.database.js';
import { consoleDatabase } from '../../../console/src/console.database.js';
import { mailDatabase } from '../../../mail/src/mail.database.js';
import { pushDatabase } from '../../../push-delivery/src/push-delivery.database.js';

/** @returns the statements by which TypeORM would make the schema that the entities describe */
async function differences({ url, schema, entities = [] }: DatabaseOptions): Promise<string[]> {
  const dataSource = new DataSource({
    type: 'postgres',
    url,
    schema,
    entities: [...entities],
    namingStrategy: new SnakeNames(),
    installExtensions: false,
    uuidExtension: 'pgcrypto',
  });
  await dataSource.initialize();
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  await dataSource.destroy();
  return upQueries.map(({ query }) => query);
}

async function query<Row>(url: string, sql: string, parameters: unknown[] = []): Promise<Row[]> {
  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  const rows: Row[] = await dataSource.query(sql, parameters);
  await dataSource.destroy();
  return rows;
}

describe.each([accountsDatabase, authLinkingDatabase, consoleDatabase, mailDatabase, pushDatabase])(
  '%o',
  (databaseOf) => {
    let options: DatabaseOptions;
    beforeAll(async () => {
      options = databaseOf(await newDatabase(), 1);
      await migrate(options);
    });
    afterAll(() => query(options.url, `DROP SCHEMA ${options.schema} CASCADE`));

    it('makes the schema that the entities describe', async () => {
      expect(await differences(options)).toEqual([]);
    });

    // TypeORM compares no names of primary keys, and ON CONFLICT ON CONSTRAINT depends on them.
    it('names the primary keys as the entities do', async () => {
      const keys = await query<{ name: string; table: string }>(
        options.url,
        `SELECT conname AS name, relname AS table FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
          WHERE contype = 'p' AND relnamespace = $1::regnamespace AND relname <> 'migrations'`,
        [options.schema],
      );
      const strategy = new SnakeNames();

      expect(keys).not.toEqual([]);
      expect(keys).toEqual(keys.map(({ table }) => ({ name: strategy.primaryKeyName(table), table })));
    });

    it('has an entity for each table', async () => {
      const tables = await query<{ name: string }>(
        options.url,
        `SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'`,
        [options.schema],
      );
      const dataSource = new DataSource({
        type: 'postgres',
        url: options.url,
        entities: [...(options.entities ?? [])],
      });
      await dataSource.initialize();
      const described = dataSource.entityMetadatas.map(({ tableName }) => tableName);
      await dataSource.destroy();

      expect(described.toSorted()).toEqual(tables.map(({ name }) => name).toSorted());
    });
  },
);

it('sees an index, a constraint, a column and a default that a migration has forgotten', async () => {
  const options = mailDatabase(await newDatabase(), 1);
  await migrate(options);
  await query(
    options.url,
    `DROP INDEX mail.deliveries_recipient_idx; ALTER TABLE mail.deliveries DROP CONSTRAINT deliveries_status_check;
     ALTER TABLE mail.templates DROP COLUMN revision; ALTER TABLE mail.deliveries ALTER COLUMN attempts DROP DEFAULT`,
  );

  expect(await differences(options)).toHaveLength(4);
});
