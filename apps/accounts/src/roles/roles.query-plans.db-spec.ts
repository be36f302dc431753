import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, Queryable } from '#database';
import { compileFind, parseOrder, parseWhere, type QueryClass, type QueryScope, roleClass, userClass } from '#objects';
import { ObjectRepository, type QueryDatabase } from '#objects/store';
import { queryPlan } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { PrincipalsRepository } from '../sessions/session-tokens.js';
import { UserEntity } from '../users/user.entity.js';
import { RoleEntity } from './roles.repository.js';

/** The first role has half of the users, each other role one; half of the roles have a role. */
const ROLES = 10_000;
const USERS = 10_000;
/** The lists of members are longer than what fits in it, as those of large applications exceed the usual 4 MB. */
const LITTLE_MEMORY = `SET LOCAL work_mem = '64kB'`;
const app = 'plans';
const idOf = (n: number) => n.toString(16).padStart(24, '0');
const pointer = (className: string, n: number) => ({ __type: 'Pointer', className, objectId: idOf(n) });
const classes = new Map<string, QueryClass>([
  ['_Role', roleClass.queryClass()],
  ['_User', userClass.queryClass()],
]);
const scope: QueryScope = { appId: app, grantees: 'master', classOf };

let database: Database;

function classOf(className: string): QueryClass {
  const queryClass = classes.get(className);
  if (queryClass === undefined) throw new Error(`there is no class ${className}`);
  return queryClass;
}

beforeAll(async () => {
  ({ database } = await newAccountsDatabase(2, { statementTimeoutMs: 60_000 }));
  await storeApplication(database, app);
  await database.query(
    `INSERT INTO accounts.users (app_id, object_id, username, session_token_hash, sealed_session_token, created_at, updated_at)
     SELECT $1, lpad(to_hex(n), 24, '0'), 'user' || n, int8send(n), '', timestamptz '2026-01-01' + n * interval '1 second', now()
       FROM generate_series(1::bigint, $2) AS n`,
    [app, USERS],
  );
  await database.query(
    `INSERT INTO accounts.roles (app_id, object_id, name, acl, created_at, updated_at)
     SELECT $1, lpad(to_hex(n), 24, '0'), 'role' || n, '{}', timestamptz '2026-01-01' + n * interval '1 second', now()
       FROM generate_series(1::bigint, $2) AS n`,
    [app, ROLES],
  );
  await database.query(
    `INSERT INTO accounts.role_users (app_id, role_id, user_id)
     SELECT $1, lpad(to_hex(CASE n % 2 WHEN 0 THEN 1 ELSE n END), 24, '0'), lpad(to_hex(n), 24, '0') FROM generate_series(1::bigint, $2) AS n
     UNION
     SELECT $1, lpad(to_hex(n), 24, '0'), lpad(to_hex(n), 24, '0') FROM generate_series(2::bigint, $3) AS n`,
    [app, USERS, ROLES],
  );
  await database.query(
    `INSERT INTO accounts.role_children (app_id, role_id, child_id)
     SELECT $1, lpad(to_hex(n), 24, '0'), lpad(to_hex(n + $2 / 2), 24, '0') FROM generate_series(1::bigint, $2 / 2) AS n`,
    [app, ROLES],
  );
  for (const table of ['users', 'roles', 'role_users', 'role_children'])
    await database.query(`VACUUM ANALYZE accounts.${table}`);
}, 120_000);
afterAll(() => database.close());

function listOf(className: string, where: object): (within: Queryable) => Promise<unknown> {
  const [objectClass, entity] = className === '_Role' ? [roleClass, RoleEntity] : [userClass, UserEntity];
  const objects = new ObjectRepository({ objectClass, entity }, database, {} as QueryDatabase);
  const query = { where: parseWhere(where), order: parseOrder(''), limit: 100 };
  const compiled = compileFind(query, classOf(className), scope);
  return (within) => objects.list(compiled, within);
}

describe(`among ${ROLES} roles and their users`, () => {
  const ofFirst = { $relatedTo: { object: pointer('_Role', 1), key: 'users' } };

  it.each<[string, string, string, object]>([
    ['the roles of a user', '_Role', 'role_users_user_idx', { users: pointer('_User', 7) }],
    ['the users of a role', '_User', 'role_users_pkey', { $relatedTo: { object: pointer('_Role', 7), key: 'users' } }],
    ['the users of a large role', '_User', 'users_created_at_idx', ofFirst],
    ['roles without users', '_Role', 'role_users_pkey', { users: { $exists: false } }],
    ['users without a role', '_User', 'role_users_pkey', { $nor: [ofFirst] }],
    ['users of a role, or with a name', '_User', 'role_users_pkey', { $or: [ofFirst, { username: 'user9999' }] }],
  ])('%s are found by an index, row by row', async (_, className, index, where) => {
    const { indexes, nodeTypes } = await database.transaction(async (tx) => {
      await tx.query(LITTLE_MEMORY);
      return queryPlan(tx, listOf(className, where));
    });
    expect(indexes).toContain(index);
    expect(nodeTypes).not.toContain('Materialize');
  });

  it('the names of a user are looked up by their ids', async () => {
    const { indexes, nodeTypes } = await queryPlan(database, (within) =>
      new PrincipalsRepository(database).rolesOf(app, idOf(7), within),
    );
    expect(indexes).toContain('roles_pkey');
    expect(nodeTypes).not.toContain('Seq Scan');
  });
});
