import type { QueryRunner } from 'typeorm';
import { ForwardMigration, createOutboxTables, indexesBesideTraffic } from '#database';
import { createFieldIndexTables } from '#objects/store';

// Why: the first tables of the accounts service: applications, users, and its outbox.
export class CreateAccounts1795257600000 extends ForwardMigration {
  override readonly statements = [
    createApplications,
    createUsers,
    indexUsersByCreation,
    indexUsersByField,
    ...createOutboxTables('accounts'),
  ];
}

const createApplications = `
  CREATE TABLE accounts.applications (
    id                text NOT NULL,
    name              text NOT NULL,
    sealed_app_key    text NOT NULL,
    sealed_master_key text NOT NULL,
    settings          jsonb NOT NULL DEFAULT '{}',
    created_at        timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT applications_pkey PRIMARY KEY (id)
  )`;

const createUsers = `
  CREATE TABLE accounts.users (
    app_id                text NOT NULL,
    object_id             text NOT NULL,
    username              text NOT NULL,
    email                 text,
    email_verified        boolean,
    mobile_phone_number   text,
    mobile_phone_verified boolean NOT NULL DEFAULT false,
    password_hash         text,
    session_token_hash    bytea NOT NULL,
    sealed_session_token  text NOT NULL,
    acl                   jsonb,
    fields                jsonb NOT NULL DEFAULT '{}',
    created_at            timestamptz(3) NOT NULL,
    updated_at            timestamptz(3) NOT NULL,
    CONSTRAINT users_pkey PRIMARY KEY (app_id, object_id),
    CONSTRAINT users_username_key UNIQUE (app_id, username),
    CONSTRAINT users_email_key UNIQUE (app_id, email),
    CONSTRAINT users_mobile_phone_number_key UNIQUE (app_id, mobile_phone_number),
    CONSTRAINT users_session_token_key UNIQUE (app_id, session_token_hash),
    CONSTRAINT users_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

const indexUsersByCreation = 'CREATE INDEX users_created_at_idx ON accounts.users (app_id, created_at, object_id)';
const indexUsersByField = 'CREATE INDEX users_fields_idx ON accounts.users USING gin (fields jsonb_path_ops)';

// Why: roles and their members, class permissions, and texts of users that compare and sort by their bytes.
export class CreateRoles1795700000000 extends ForwardMigration {
  override readonly statements = [
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

// Why: failed logins and locks, for the standalone server; services count in Redis and leave the table empty.
export class CreateLockouts1795700100000 extends ForwardMigration {
  override readonly statements = [createLockouts, indexLockoutsByEnd, indexLockoutsByExpiry];
}

// Without a foreign key to users: names of no user are counted too.
const createLockouts = `
  CREATE TABLE accounts.lockouts (
    app_id       text NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    attempts     jsonb NOT NULL,
    locked_until timestamptz(3),
    expires_at   timestamptz(3) NOT NULL,
    CONSTRAINT lockouts_pkey PRIMARY KEY (app_id, user_id)
  )`;

const indexLockoutsByEnd = `
  CREATE INDEX lockouts_locked_until_idx ON accounts.lockouts (app_id, locked_until, user_id)
   WHERE locked_until IS NOT NULL`;
const indexLockoutsByExpiry = 'CREATE INDEX lockouts_expires_at_idx ON accounts.lockouts (expires_at)';

// Why: accounts on other platforms. One of them binds to one user: the primary key says so (specification, authData).
export class CreateIdentities1795800000000 extends ForwardMigration {
  override readonly statements = [addEntries, createIdentities];
}

/** Sealed: the entries hold the platforms' tokens. */
const addEntries = 'ALTER TABLE accounts.users ADD COLUMN sealed_identities text';

const createIdentities = `
  CREATE TABLE accounts.identities (
    app_id      text NOT NULL,
    platform    text COLLATE "C" NOT NULL,
    uid         text COLLATE "C" NOT NULL,
    user_id     text NOT NULL,
    kind        text,
    is_verified boolean NOT NULL,
    CONSTRAINT identities_pkey PRIMARY KEY (app_id, platform, uid),
    CONSTRAINT identities_user_platform_key UNIQUE (app_id, user_id, platform),
    CONSTRAINT identities_user_fkey FOREIGN KEY (app_id, user_id)
      REFERENCES accounts.users (app_id, object_id) ON DELETE CASCADE
  )`;

const FIELD_INDEXES = ['users_fields_idx', 'roles_fields_idx'];

// Why: by default a write only notes its fields for a GIN index, and every search reads the notes, up to 4 MB of them, until
// they are sorted in. With writes going on a search by a field then takes several times as long.
export class SearchFieldsAtOnce1796500000000 extends ForwardMigration {
  override readonly statements = FIELD_INDEXES.flatMap((index) => [
    `ALTER INDEX accounts.${index} SET (fastupdate = off)`,
    `SELECT gin_clean_pending_list('accounts.${index}')`,
  ]);
}

// Why: operators make indexes of custom fields; requested indexes and slow kinds of queries outlast a process.
export class CreateFieldIndexes1796710000000 extends ForwardMigration {
  override readonly statements = createFieldIndexTables('accounts');
}

// Why: an import recognises users that have changed here since, and passwords that it has imported before.
export class ImportUsers1796720000000 extends ForwardMigration {
  override readonly statements = [
    'ALTER TABLE accounts.users ADD COLUMN last_change_at timestamptz(3), ADD COLUMN imported_password_hash bytea',
  ];
}

// Why: the gateway signs the identity of forwarded requests with a secret of the application.
export class AddForwardSecret1796730000000 extends ForwardMigration {
  override readonly statements = ['ALTER TABLE accounts.applications ADD COLUMN sealed_forward_secret text'];
}

const INDEXES = {
  users_lower_username_idx: 'users (app_id, lower(username), object_id)',
  users_lower_email_idx: 'users (app_id, lower(email), object_id) WHERE email IS NOT NULL',
};

// Why: operators search users by the beginning of a username or an address in any case of letters, among millions.
export class SearchUsers1796780000000 extends ForwardMigration {
  /** A build beside the traffic cannot be part of a transaction. An interrupted one leaves an invalid index, which the next run replaces. */
  readonly transaction = false;

  override readonly statements = indexesBesideTraffic('accounts', INDEXES);
}

// Why: the console draws the logins per day, which the rows of users do not hold.
export class CountLogins1796795000000 extends ForwardMigration {
  override readonly statements = [createDailyLogins];
}

const createDailyLogins = `
  CREATE TABLE accounts.daily_logins (
    app_id text NOT NULL,
    day    date NOT NULL,
    logins bigint NOT NULL,
    CONSTRAINT daily_logins_pkey PRIMARY KEY (app_id, day)
  )`;

const COVERING_INDEXES = {
  users_lower_username_idx: '(app_id, lower(username), object_id) INCLUDE (username, created_at)',
  users_lower_email_idx: '(app_id, lower(email), object_id) INCLUDE (email, created_at) WHERE email IS NOT NULL',
};

// Why: the matches of a beginning are counted and sorted by the index alone, without reading their rows; and searches estimate the matches of
// a part, for which the usual 100 parts of a histogram are too few.
export class CoverSearches1796798000000 extends ForwardMigration {
  /** A build beside the traffic cannot be part of a transaction. The next run repeats an interrupted one. */
  readonly transaction = false;

  override async up(runner: QueryRunner): Promise<void> {
    // The build waits for running transactions, but blocks neither reads nor writes.
    await runner.query('SET lock_timeout = 0');
    for (const [name, definition] of Object.entries(COVERING_INDEXES)) {
      // An interrupted run may have left the new index whole, and no other one.
      const [built] = (await runner.query(
        `SELECT FROM pg_index WHERE indexrelid = to_regclass('accounts.new_${name}') AND indisvalid`,
      )) as unknown[];
      if (built === undefined) {
        await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS accounts.new_${name}`);
        await runner.query(`CREATE INDEX CONCURRENTLY new_${name} ON accounts.users ${definition}`);
      }
      await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS accounts.${name}`);
      await runner.query(`ALTER INDEX accounts.new_${name} RENAME TO ${name}`);
    }
    await runner.query(
      'ALTER TABLE accounts.users ALTER COLUMN username SET STATISTICS 1000, ALTER COLUMN email SET STATISTICS 1000',
    );
    // Also the new indexes need statistics of their expressions.
    await runner.query('ANALYZE accounts.users');
    await runner.query('RESET lock_timeout');
  }
}

// Why: an import replaces a password and a session token that it has kept from an earlier version of the user.
export class NoteEarlierCredentials1796820000000 extends ForwardMigration {
  override readonly statements = [
    `ALTER TABLE accounts.users
         ADD COLUMN has_earlier_password boolean NOT NULL DEFAULT false,
         ADD COLUMN has_earlier_token boolean NOT NULL DEFAULT false`,
  ];
}

// Why: an import does not put back a session token that it has imported before and that its owner has replaced since.
export class RecogniseImportedTokens1796870000000 extends ForwardMigration {
  override readonly statements = ['ALTER TABLE accounts.users ADD COLUMN imported_token_hash bytea'];
}
