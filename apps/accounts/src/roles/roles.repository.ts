import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database, selectList, type Tx, violatedForeignKey, violatedUniqueConstraint } from '#database';
import { appError } from '#errors';
import type { CompiledCount, CompiledFind, QueryClass } from '#objects';
import { countRows, listBounded } from '#objects/store';
import {
  AccountsQueryDatabase,
  type ObjectReader,
  type ReadContext,
  type ReadObject,
} from '../objects/object-classes.js';
import { RoleChildEntity, RoleEntity, RoleUserEntity } from './role.entity.js';
import { presentRole, type RoleRelation, type RoleRow } from './role.rules.js';

const COLUMNS = selectList(RoleEntity, { except: ['appId'] });

/** The tables of the relations. */
const MEMBER_TABLES: Readonly<Record<RoleRelation, { readonly table: string; readonly member: string }>> = {
  users: { table: 'accounts.role_users', member: 'user_id' },
  roles: { table: 'accounts.role_children', member: 'child_id' },
};

/** Roles and their members, of one application per call. */
@Injectable()
export class RolesRepository implements ObjectReader {
  constructor(
    private readonly database: Database,
    private readonly queries: AccountsQueryDatabase,
  ) {}

  async find(query: CompiledFind): Promise<ReadObject[]> {
    const listed = { table: 'accounts.roles', columns: COLUMNS };
    return (await listBounded<RoleRow>(this.queries.for(query), listed, query)).map(asReadObject);
  }

  count(query: CompiledCount): Promise<number> {
    return countRows(this.queries.for(query), query);
  }

  async findMany(appId: string, objectIds: readonly string[]): Promise<ReadObject[]> {
    const sql = `SELECT ${COLUMNS} FROM accounts.roles WHERE app_id = $1 AND object_id = ANY($2)`;
    return (await this.database.query<RoleRow>(sql, [appId, objectIds], 'roles.findMany')).map(asReadObject);
  }

  async lock(tx: Tx, appId: string, objectId: string): Promise<RoleRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM accounts.roles WHERE app_id = $1 AND object_id = $2 FOR UPDATE`;
    return (await tx.query<RoleRow>(sql, [appId, objectId], 'roles.lock'))[0];
  }

  async lockMany(tx: Tx, appId: string, objectIds: readonly string[]): Promise<void> {
    const sql = 'SELECT FROM accounts.roles WHERE app_id = $1 AND object_id = ANY($2) ORDER BY object_id FOR UPDATE';
    await tx.query(sql, [appId, objectIds]);
  }

  /** @throws AppError UNIQUE_FIELD_TAKEN where the name is taken */
  async insert(tx: Tx, appId: string, role: RoleRow): Promise<void> {
    try {
      await tx.manager.getRepository(RoleEntity).insert({ appId, ...role });
    } catch (error) {
      throw violatedUniqueConstraint(error) === 'roles_name_key' ? appError('UNIQUE_FIELD_TAKEN') : error;
    }
  }

  async update(tx: Tx, appId: string, { objectId, acl, fields, updatedAt }: RoleRow): Promise<void> {
    await tx.manager.getRepository(RoleEntity).update({ appId, objectId }, { acl, fields, updatedAt });
  }

  /** The foreign keys remove its memberships. */
  async remove(tx: Tx, appId: string, objectId: string): Promise<void> {
    await tx.manager.getRepository(RoleEntity).delete({ appId, objectId });
  }

  /** @throws AppError INVALID_RELATION where one of the members does not exist */
  async addMembers(tx: Tx, appId: string, roleId: string, members: RoleMembers): Promise<void> {
    const { table, member } = MEMBER_TABLES[members.relation];
    try {
      // In one order, so two requests that add the same members cannot deadlock.
      await tx.query(
        `INSERT INTO ${table} (app_id, role_id, ${member})
         SELECT $1, $2, id FROM unnest($3::text[]) AS id ORDER BY id ON CONFLICT DO NOTHING`,
        [appId, roleId, members.ids],
      );
    } catch (error) {
      if (violatedForeignKey(error) === undefined) throw error;
      throw appError('INVALID_RELATION', { message: `Some of the ${members.relation} do not exist.` });
    }
  }

  async removeMembers(tx: Tx, appId: string, roleId: string, { relation, ids }: RoleMembers): Promise<void> {
    const members = In([...ids]);
    if (relation === 'users') await tx.manager.getRepository(RoleUserEntity).delete({ appId, roleId, userId: members });
    else await tx.manager.getRepository(RoleChildEntity).delete({ appId, roleId, childId: members });
  }
}

interface RoleMembers {
  readonly relation: RoleRelation;
  readonly ids: readonly string[];
}

function asReadObject(role: RoleRow): ReadObject {
  return {
    objectId: role.objectId,
    acl: role.acl,
    present: ({ principal, returnAcl }: ReadContext) =>
      presentRole(role, { showsAcl: principal === undefined || returnAcl }),
  };
}

/** The fields of roles that queries may name. */
export const ROLE_QUERY_CLASS: QueryClass = {
  className: '_Role',
  table: 'accounts.roles',
  columns: new Map([
    ['objectId', { sql: 'object_id', type: 'text' }],
    ['name', { sql: 'name', type: 'text' }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
    ['updatedAt', { sql: 'updated_at', type: 'date' }],
  ]),
  relations: new Map([
    [
      'users',
      {
        className: '_User',
        table: 'accounts.role_users',
        appColumn: 'app_id',
        ownerColumn: 'role_id',
        memberColumn: 'user_id',
      },
    ],
    [
      'roles',
      {
        className: '_Role',
        table: 'accounts.role_children',
        appColumn: 'app_id',
        ownerColumn: 'role_id',
        memberColumn: 'child_id',
      },
    ],
  ]),
  hidden: new Set(['ACL']),
  appColumn: 'app_id',
  idColumn: 'object_id',
  jsonColumn: 'fields',
  aclColumn: 'acl',
  defaultOrderColumn: 'created_at',
};
