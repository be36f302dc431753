import { type DatabaseOptions, migrate } from '#database';
import { newDatabase } from '#testing';
import { PushDatabase, pushDatabase } from '../src/push-delivery.database.js';

/** The options of a new database with the tables of the service. */
export async function migratedOptions(poolSize: number): Promise<DatabaseOptions> {
  const options = pushDatabase(await newDatabase(), poolSize);
  await migrate(options);
  return options;
}

/** A new database with the tables of the service. Close it after the tests. */
export async function openPushDatabase(poolSize: number, own: Partial<DatabaseOptions> = {}): Promise<PushDatabase> {
  return new PushDatabase({ ...(await migratedOptions(poolSize)), ...own });
}
