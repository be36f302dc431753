import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Database } from '#database';
import { compileFind, type ObjectRow, parseWhere, roleClass } from '#objects';
import { ObjectRepository, type QueryDatabase } from '#objects/store';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { RoleEntity } from './roles.repository.js';

type RoleRow = ObjectRow & { readonly name: string };
type RelationChange = Parameters<ObjectRepository['changeMembers']>[3][number];

const APP = 'shop';
const TIME = new Date('2026-01-01T00:00:00.123Z');

let database: Database;
let roles: ObjectRepository<RoleRow>;

const roleOf = (objectId: string): RoleRow => ({
  objectId,
  name: objectId,
  acl: { '*': { read: true } },
  fields: { tags: ['a'], nested: { n: null } },
  createdAt: TIME,
  updatedAt: TIME,
});
const member = (kind: RelationChange['kind'], objectId: string): RelationChange => ({
  field: 'roles',
  kind,
  objects: [{ className: '_Role', objectId }],
});
const childrenOf = (objectId: string) =>
  database.query('SELECT child_id AS id FROM accounts.role_children WHERE role_id = $1', [objectId]);

beforeAll(async () => {
  ({ database } = await newAccountsDatabase(2));
  roles = new ObjectRepository({ objectClass: roleClass, entity: RoleEntity }, database, {} as QueryDatabase);
  await storeApplication(database, APP);
});
afterAll(() => database.close());

it('inserts, changes and removes roles and their members', async () => {
  const [parent, child] = [roleOf('parent'), roleOf('child')];
  await database.transaction(async (tx) => {
    for (const role of [parent, child]) await roles.insert(tx, APP, role);
    await roles.changeMembers(tx, APP, 'parent', [member('addRelation', 'child')]);
  });
  const changed = { ...parent, acl: {}, fields: { level: 1 }, updatedAt: new Date(TIME.getTime() + 1) };
  const locked = await database.transaction(async (tx) => {
    expect(await roles.lock(tx, APP, 'parent')).toEqual(parent);
    await roles.update(tx, APP, { ...changed, name: 'a role keeps its name' });
    return roles.lock(tx, APP, 'parent');
  });
  expect(locked).toEqual(changed);
  expect(await childrenOf('parent')).toEqual([{ id: 'child' }]);
  await database.transaction((tx) => roles.changeMembers(tx, APP, 'parent', [member('removeRelation', 'child')]));
  expect(await childrenOf('parent')).toEqual([]);
  await database.transaction((tx) => roles.remove(tx, APP, ['parent']));
  expect(await roles.find(APP, 'parent')).toBeUndefined();
  expect(await roles.find(APP, 'child')).toMatchObject({ objectId: 'child' });
});

it('makes each of two roles a member of the other, while both are changed', async () => {
  const names = ['left', 'right'];
  await database.transaction(async (tx) => {
    for (const name of names) await roles.insert(tx, APP, roleOf(name));
  });
  let locked = 0;
  await Promise.all(
    names.map((name, index) =>
      database.transaction(async (tx) => {
        const role = (await roles.lock(tx, APP, name))!;
        locked += 1;
        await vi.waitUntil(() => locked === names.length);
        await roles.update(tx, APP, { ...role, fields: { changed: true } });
        await roles.changeMembers(tx, APP, name, [member('addRelation', names[1 - index]!)]);
      }),
    ),
  );
  for (const [index, name] of names.entries()) expect(await childrenOf(name)).toEqual([{ id: names[1 - index] }]);
});

it('locks roles for changes, and for removals also against becoming a member', async () => {
  const names = ['changed', 'removed'];
  const free = async (lock: string) => {
    const sql = `SELECT object_id AS id FROM accounts.roles WHERE object_id = ANY ($1) FOR ${lock} SKIP LOCKED`;
    return (await database.query<{ id: string }>(sql, [names])).map(({ id }) => id);
  };
  await database.transaction(async (tx) => {
    for (const name of names) await roles.insert(tx, APP, roleOf(name));
  });
  const locks = [{ objectId: 'removed', rowLock: 'UPDATE' }, { objectId: 'changed' }] as const;
  await database.transaction(async (tx) => {
    await roles.lockMany(tx, APP, locks);
    expect([await free('NO KEY UPDATE'), await free('KEY SHARE')]).toEqual([[], ['changed']]);
  });
  await database.transaction(async (tx) => {
    for (const { objectId, ...lock } of locks)
      await roles.lock(tx, APP, objectId, 'rowLock' in lock ? lock.rowLock : undefined);
    expect([await free('NO KEY UPDATE'), await free('KEY SHARE')]).toEqual([[], ['changed']]);
  });
});

it('measures custom fields and ACLs of the roles that the caller may read', async () => {
  const entries = Array.from({ length: 100 }, (_, index) => [`role:${index}`, { read: true }] as const);
  const large = { ...roleOf('large'), acl: { '*': { read: true }, ...Object.fromEntries(entries) } } as RoleRow;
  const hidden = { ...roleOf('hidden'), acl: {} };
  await database.transaction(async (tx) => {
    for (const role of [large, hidden]) await roles.insert(tx, APP, role);
  });
  const query = { where: parseWhere({ objectId: { $in: ['large', 'hidden'] } }), order: [] };
  const classOf = () => roleClass.queryClass({ hideContact: false });
  const scope = { appId: APP, grantees: ['*'], classOf };
  const found = await roles.listMeasured(compileFind(query, classOf(), scope), database);
  expect(found.objects.map(({ objectId }) => objectId)).toEqual(['large']);
  expect(found.bytes).toBeGreaterThan(JSON.stringify([large.acl, large.fields]).length);
});

it('refuses a name that is taken, and members that do not exist', async () => {
  const insertion = database.transaction((tx) => roles.insert(tx, APP, { ...roleOf('other'), name: 'child' }));
  await expect(insertion).rejects.toMatchObject({ errorName: 'UNIQUE_FIELD_TAKEN' });
  const unknown = member('addRelation', 'unknown');
  const addition = database.transaction((tx) => roles.changeMembers(tx, APP, 'child', [unknown]));
  await expect(addition).rejects.toMatchObject({ errorName: 'INVALID_RELATION' });
});
