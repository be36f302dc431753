// Why: roles and their members, class permissions, and texts of users that compare and sort by their bytes.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateRoles1795700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const statements = [
      addClassPermissions,
      compareUsersByBytes,
      createRoles,
      indexRolesByCreation,
      indexRolesByField,
      createRoleUsers,
      indexRolesByUser,
      createRoleChildren,
      indexRolesByChild,
    ];
    for (const statement of statements) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const addClassPermissions = `ALTER TABLE accounts.applications ADD COLUMN class_permissions jsonb NOT NULL DEFAULT '{}'`;

/** Sorted alike on every server, whatever its locale; and an index then serves a search for a prefix. */
const compareUsersByBytes = `
  ALTER TABLE accounts.users
    ALTER COLUMN object_id           TYPE text COLLATE "C",
    ALTER COLUMN username            TYPE text COLLATE "C",
    ALTER COLUMN email               TYPE text COLLATE "C",
    ALTER COLUMN mobile_phone_number TYPE text COLLATE "C"`;

const createRoles = `
  CREATE TABLE accounts.roles (
    app_id     text NOT NULL,
    object_id  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    acl        jsonb NOT NULL,
    fields     jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    CONSTRAINT roles_pkey PRIMARY KEY (app_id, object_id),
    CONSTRAINT roles_name_key UNIQUE (app_id, name),
    CONSTRAINT roles_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

const indexRolesByCreation = 'CREATE INDEX roles_created_at_idx ON accounts.roles (app_id, created_at, object_id)';
const indexRolesByField = 'CREATE INDEX roles_fields_idx ON accounts.roles USING gin (fields jsonb_path_ops)';

const createRoleUsers = `
  CREATE TABLE accounts.role_users (
    app_id  text NOT NULL,
    role_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    CONSTRAINT role_users_pkey PRIMARY KEY (app_id, role_id, user_id),
    CONSTRAINT role_users_role_fkey FOREIGN KEY (app_id, role_id)
      REFERENCES accounts.roles (app_id, object_id) ON DELETE CASCADE,
    CONSTRAINT role_users_user_fkey FOREIGN KEY (app_id, user_id)
      REFERENCES accounts.users (app_id, object_id) ON DELETE CASCADE
  )`;

const indexRolesByUser = 'CREATE INDEX role_users_user_idx ON accounts.role_users (app_id, user_id)';

/** A role that is in the relation `roles` of another has that one's permissions. */
const createRoleChildren = `
  CREATE TABLE accounts.role_children (
    app_id   text NOT NULL,
    role_id  text COLLATE "C" NOT NULL,
    child_id text COLLATE "C" NOT NULL,
    CONSTRAINT role_children_pkey PRIMARY KEY (app_id, role_id, child_id),
    CONSTRAINT role_children_role_fkey FOREIGN KEY (app_id, role_id)
      REFERENCES accounts.roles (app_id, object_id) ON DELETE CASCADE,
    CONSTRAINT role_children_child_fkey FOREIGN KEY (app_id, child_id)
      REFERENCES accounts.roles (app_id, object_id) ON DELETE CASCADE
  )`;

const indexRolesByChild = 'CREATE INDEX role_children_child_idx ON accounts.role_children (app_id, child_id)';
