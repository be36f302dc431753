import { Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { ApplicationEntity } from '../applications/application.entity.js';
import { UserEntity } from '../users/user.entity.js';

@Entity('roles')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'roles_app_id_fkey' })
@Unique('roles_name_key', ['appId', 'name'])
@Index('roles_created_at_idx', ['appId', 'createdAt', 'objectId'])
@Index('roles_fields_idx', { synchronize: false })
export class RoleEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'roles_pkey' })
  appId!: string;

  @PrimaryColumn({ type: 'text', name: 'object_id', collation: 'C', primaryKeyConstraintName: 'roles_pkey' })
  objectId!: string;

  @Column({ type: 'text', collation: 'C' })
  name!: string;

  @Column('jsonb')
  acl!: unknown;

  @Column('jsonb', { default: {} })
  fields!: unknown;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3 })
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
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'role_users_pkey' })
  appId!: string;

  @PrimaryColumn({ type: 'text', name: 'role_id', collation: 'C', primaryKeyConstraintName: 'role_users_pkey' })
  roleId!: string;

  @PrimaryColumn({ type: 'text', name: 'user_id', collation: 'C', primaryKeyConstraintName: 'role_users_pkey' })
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
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'role_children_pkey' })
  appId!: string;

  @PrimaryColumn({ type: 'text', name: 'role_id', collation: 'C', primaryKeyConstraintName: 'role_children_pkey' })
  roleId!: string;

  @PrimaryColumn({ type: 'text', name: 'child_id', collation: 'C', primaryKeyConstraintName: 'role_children_pkey' })
  childId!: string;
}
