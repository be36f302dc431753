import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import { classPermissions, type JsonObject } from '#contracts';
import { ANONYMOUS, type InstallationRow } from '#objects';
import {
  type AccessSource,
  ObjectAccess,
  type PreparedWrite,
  type QueryDatabase,
  type Requester,
  StoredClasses,
} from '#objects/store';
import { eventually, unique } from '#testing';
import { openPushDatabase } from '../../test/push-database.js';
import { type DeviceAddress, type DeviceQueues, partitionOf } from '../device-queues/device-queues.js';
import type { PushDatabase } from '../push-delivery.database.js';
import { InstallationWriter } from './installation-writer.js';
import { InstallationsRepository } from './installations.repository.js';

const OPEN = classPermissions.parse({ _Installation: { find: 'everyone', delete: 'everyone' } });
const ACCESS = {
  permissionsOf: () => Promise.resolve(OPEN),
  principalOf: () => Promise.resolve(ANONYMOUS),
  hidesContact: () => Promise.resolve(false),
} satisfies AccessSource;

let database: PushDatabase;
let installations: InstallationsRepository;
beforeAll(async () => {
  database = await openPushDatabase(10);
  installations = new InstallationsRepository(database, {} as QueryDatabase);
});
afterAll(() => database.close());

describe('installations in PostgreSQL', () => {
  let app: string;
  let access: ObjectAccess;
  let caller: Requester;
  let writer: InstallationWriter;
  let cleared: DeviceAddress[];
  let failure: Error | undefined;

  beforeEach(() => {
    [app, cleared, failure] = [unique('app'), [], undefined];
    caller = { requestId: 'r', appId: app, isMaster: true };
    const clear = (devices: readonly DeviceAddress[]) => {
      cleared.push(...devices);
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    };
    const queues = { clear } as unknown as DeviceQueues;
    const classes = new StoredClasses();
    access = new ObjectAccess(ACCESS, classes);
    writer = new InstallationWriter(classes, access, installations, queues, new Clock(), {
      vendors: undefined,
      objectLimitBytes: 1_000,
    });
  });

  const run = <T>(write: PreparedWrite<T>) =>
    database.transaction(async (tx) => {
      await writer.lock(tx, app, [write]);
      return write.run(tx);
    });
  const register = async (identity: JsonObject): Promise<InstallationRow> => {
    const { objectId } = await run(await writer.prepareCreate(caller, identity, { returnNew: false }));
    const row = await installations.findVisible(app, objectId);
    if (row === undefined) throw new Error('the registration stored nothing');
    return row;
  };
  const addresses = (...names: string[]) => names.map((installationId) => ({ appId: app, installationId }));

  it('are read as they were stored, in the partition of their id', async () => {
    const saved = await register({ installationId: 'device' });
    expect(await installations.find(app, saved.objectId)).toEqual(saved);
    const [row] = await database.query<{ partition: number }>(
      'SELECT partition FROM push.installations WHERE app_id = $1',
      [app],
    );
    expect(row?.partition).toBe(partitionOf({ appId: app, installationId: 'device' }));
    expect(await installations.find(unique('app'), saved.objectId)).toBeUndefined();
  });

  it('lock identities that do not exist yet', async () => {
    const steps: string[] = [];
    const slow = database.transaction(async (tx) => {
      await installations.lockIdentities(tx, app, [{ installationId: 'one' }, { deviceToken: 'two' }]);
      steps.push('locked');
      await eventually(async () => {
        const sql = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
                      WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`;
        expect(await database.query(sql)).toHaveLength(2);
      });
      steps.push('done');
    });
    await eventually(() => {
      expect(steps).toEqual(['locked']);
    });
    const waiting = [{ deviceToken: 'two' }, { installationId: 'one', deviceToken: 'three' }].map((identity) =>
      database.transaction(async (tx) => {
        await installations.lockIdentities(tx, app, [identity]);
        steps.push('after');
      }),
    );
    await Promise.all([slow, ...waiting]);
    expect(steps).toEqual(['locked', 'done', 'after', 'after']);
  });

  it('that take an unlocked identity fail with a retryable error', async () => {
    const { objectId, ...row } = await register({ installationId: 'taken' });
    const copy = { ...row, objectId: randomBytes(12).toString('hex') };
    const insert = database.transaction((tx) => installations.insert(tx, app, copy));
    await expect(insert).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    const other = await register({ installationId: 'other' });
    const update = database.transaction((tx) => installations.update(tx, app, { ...other, installationId: 'taken' }));
    await expect(update).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect(await installations.find(app, objectId)).toBeDefined();
  });

  it('give the token of a vendor to the device that names it last', async () => {
    const idsOf = async () => {
      const sql = 'SELECT installation_id AS id FROM push.installations WHERE app_id = $1 ORDER BY 1';
      return (await database.query<{ id: string }>(sql, [app])).map(({ id }) => id);
    };
    const update = async (objectId: string, fields: JsonObject) =>
      run(await writer.prepareUpdate(caller, objectId, fields, { returnNew: false }));
    const token = { deviceType: 'android', vendor: 'HMS', registrationId: 'r' };
    await register({ installationId: 'first', ...token });
    await register({ installationId: 'other vendor', ...token, vendor: 'fcm' });
    await register({ installationId: 'own channel', ...token, vendor: 'lc' });
    const again = await register({ installationId: 'reinstalled', deviceType: 'android' });
    expect(await idsOf()).toEqual(['first', 'other vendor', 'own channel', 'reinstalled']);
    await update(again.objectId, { vendor: 'hms', registrationId: 'r' });
    expect([await idsOf(), cleared]).toEqual([['other vendor', 'own channel', 'reinstalled'], addresses('first')]);
    const own = await register({ installationId: 'own channel' });
    await update(own.objectId, { vendor: 'fcm' });
    expect(await idsOf()).toEqual(['own channel', 'reinstalled']);

    const imported = { ...own, objectId: randomBytes(12).toString('hex'), installationId: 'imported', fields: token };
    await database.transaction((tx) => installations.insert(tx, app, imported));
    await update(imported.objectId, { level: 1 });
    expect(await idsOf()).toEqual(['imported', 'own channel', 'reinstalled']);
    await register({ installationId: 'reinstalled', ...token });
    expect(await idsOf()).toEqual(['own channel', 'reinstalled']);
  });

  it('of concurrent registrations with one token of a vendor leave one', async () => {
    const token = { deviceType: 'android', vendor: 'fcm', registrationId: 'r' };
    const devices = Array.from({ length: 8 }, (_, index) => ({ installationId: `device ${index}`, ...token }));
    await Promise.all(
      devices.map(async (fields) => run(await writer.prepareCreate(caller, fields, { returnNew: false }))),
    );
    const rows = await database.query('SELECT 1 FROM push.installations WHERE app_id = $1', [app]);
    expect(rows).toHaveLength(1);
  });

  it('delete the queue of an id that no installation has any more', async () => {
    const token = { deviceType: 'ios', deviceToken: 't' };
    const first = await register({ installationId: 'first', ...token });
    expect((await register({ installationId: 'second', ...token })).objectId).toBe(first.objectId);
    expect(cleared).toEqual(addresses('first'));
    await register({ installationId: 'third' });
    const kept = await register({ installationId: 'third', ...token });
    expect(cleared).toEqual(addresses('first', 'second'));
    await register({ installationId: 'third', ...token });
    expect(cleared).toHaveLength(2);

    failure = new Error('Redis is away');
    const context = await access.contextOf(caller);
    const condition = context.conditionOf('_Installation', undefined);
    await run(writer.prepareRemove(caller, kept.objectId, { context, condition }));
    expect([cleared.at(-1), await installations.find(app, kept.objectId)]).toEqual([...addresses('third'), undefined]);
  });

  it('keep the queue if the change is rolled back', async () => {
    const { objectId } = await register({ installationId: 'stays' });
    const fields = { installationId: 'gone', a: 'x'.repeat(1_000) };
    const change = run(await writer.prepareUpdate(caller, objectId, fields, { returnNew: false }));
    await expect(change).rejects.toMatchObject({ errorName: 'OBJECT_TOO_LARGE' });
    expect([cleared, (await installations.find(app, objectId))?.installationId]).toEqual([[], 'stays']);
  });
});
