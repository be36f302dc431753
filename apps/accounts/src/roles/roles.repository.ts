import { Injectable } from '@nestjs/common';
import { Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import type { accountsImportRpc, RpcData } from '#contracts';
import { Database, TimeColumn, UNESTIMATED_APP, violatedForeignKey } from '#database';
import { appError } from '#errors';
import { ApplicationEntity } from '../applications/applications.repository.js';
import { UserEntity } from '../users/user.entity.js';

@Entity('roles')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'roles_app_id_fkey' })
@Unique('roles_name_key', ['appId', 'name'])
@Index('roles_created_at_idx', ['appId', 'createdAt', 'objectId'])
@Index('roles_fields_idx', { synchronize: false })
export class RoleEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  objectId!: string;

  @Column({ type: 'text', collation: 'C' })
  name!: string;

  @Column('jsonb')
  acl!: unknown;

  @Column('jsonb', { default: {} })
  fields!: unknown;

  @TimeColumn()
  createdAt!: Date;

  @TimeColumn()
  updatedAt!: Date;
}

@Entity('role_users')
@ForeignKey(() => RoleEntity, ['appId', 'roleId'], ['appId', 'objectId'], {
  name: 'role_users_role_fkey',
  onDelete: 'CASCADE',
})
@ForeignKey(() => UserEntity, ['appId', 'userId'], ['appId', 'objectId'], {
  name: 'role_users_user_fkey',
  onDelete: 'CASCADE',
})
@Index('role_users_user_idx', ['appId', 'userId'])
export class RoleUserEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  roleId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  userId!: string;
}

@Entity('role_children')
@ForeignKey(() => RoleEntity, ['appId', 'childId'], ['appId', 'objectId'], {
  name: 'role_children_child_fkey',
  onDelete: 'CASCADE',
})
@ForeignKey(() => RoleEntity, ['appId', 'roleId'], ['appId', 'objectId'], {
  name: 'role_children_role_fkey',
  onDelete: 'CASCADE',
})
@Index('role_children_child_idx', ['appId', 'childId'])
export class RoleChildEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  roleId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  childId!: string;
}

type Import = RpcData<typeof accountsImportRpc.importMembers>;
type RoleRelation = Import['field'];

interface ResolvedMember {
  /** In the request, from 0. */
  readonly index: number;
  /** null, as a member: there is none. */
  readonly roleId: string | null;
  readonly memberId: string | null;
  readonly isKnown: boolean;
}

const RELATIONS = {
  users: { table: 'accounts.role_users', column: 'user_id', of: 'accounts.users', name: 'username' },
  roles: { table: 'accounts.role_children', column: 'child_id', of: 'accounts.roles', name: 'name' },
} as const;

@Injectable()
export class RoleMembersRepository {
  constructor(private readonly database: Database) {}

  resolve(appId: string, field: RoleRelation, members: Import['members']): Promise<ResolvedMember[]> {
    const [roles, named] = [members.map(({ role }) => role), members.map(({ member }) => member)];
    return this.database.query<ResolvedMember>(resolveSql(field), [appId, roles, named]);
  }

  /** @throws AppError SERVICE_UNAVAILABLE where a role or a member is removed at the same time */
  async add(appId: string, field: RoleRelation, members: readonly ResolvedMember[]): Promise<void> {
    const { table, column } = RELATIONS[field];
    try {
      await this.database.query(
        `INSERT INTO ${table} (app_id, role_id, ${column})
         SELECT $1, role_id, member_id FROM unnest($2::text[], $3::text[]) AS fresh (role_id, member_id)
          ORDER BY role_id, member_id ON CONFLICT DO NOTHING`,
        [appId, members.map(({ roleId }) => roleId), members.map(({ memberId }) => memberId)],
      );
    } catch (error) {
      throw violatedForeignKey(error) === undefined ? error : appError('SERVICE_UNAVAILABLE', { cause: error });
    }
  }
}

/** Finds roles and members by id, else by name. A pair that occurs twice is known at its second place. */
function resolveSql(field: RoleRelation): string {
  const { table, column, of, name } = RELATIONS[field];
  const found = (source: string, nameColumn: string, wanted: string) => `
    LEFT JOIN LATERAL (
      SELECT object_id FROM ${source} WHERE app_id = ${UNESTIMATED_APP} AND (object_id = ${wanted} OR ${nameColumn} = ${wanted})
       ORDER BY object_id = ${wanted} DESC LIMIT 1)`;
  return `
    WITH resolved AS (
      SELECT position, role.object_id AS role_id, member.object_id AS member_id
        FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS wanted (role, member, position)
        ${found('accounts.roles', 'name', 'wanted.role')} AS role ON true
        ${found(of, name, 'wanted.member')} AS member ON true)
    SELECT position::integer - 1 AS index, role_id AS "roleId", member_id AS "memberId", role_id IS NOT NULL AND member_id IS NOT NULL AND (
             EXISTS (SELECT FROM ${table} AS stored
                      WHERE stored.app_id = ${UNESTIMATED_APP} AND stored.role_id = resolved.role_id AND stored.${column} = resolved.member_id)
             OR row_number() OVER (PARTITION BY role_id, member_id ORDER BY position) > 1) AS "isKnown"
      FROM resolved ORDER BY position`;
}
