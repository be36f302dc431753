import pg from 'pg';
import type { DatabaseOptions } from '#database';

/** A row as 0.1.0 wrote it, in a table of its schema. Columns that are not named get a value by their type. */
interface EarlierRow {
  readonly table: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The secret that sealed the values below. */
export const EARLIER_SECRET = 'upgrade-test-secret-upgrade-test-secret';
export const EARLIER_APP = { id: 'earlier', appKey: 'earlier-key', masterKey: 'earlier-master-key' };
export const ADA = {
  id: '6b02625d26fb43786274458c',
  username: 'ada',
  password: 'correct horse',
  session: 'gomado8wdzytbv5oimvcrcu0m',
};
const CREW = '6b02625d8e18f8e2bdc8a191';
export const INSTALLATION = '6b02625dc8918f0765d315a6';
export const NOTIFICATION = '6b02625eee0c91ceb0a94754';
export const MAILED = 'grace@example.com';
const OPERATOR = '0c1c5a3f-3f0e-4a52-9d3f-8d110b6f3c0e';

const FOR_ALL = { '*': { read: true, write: true } };
/** Times that must still be in the future when the test runs. */
const FAR = '2100-01-01T00:00:00Z';
const AT = '2026-11-22T03:00:00Z';
const APP = { app_id: EARLIER_APP.id };

/** An index of custom fields, and a slow query. */
const INDEX_ROWS = [
  { table: 'field_indexes', values: { ...APP, class_name: '_Role', fields: ['level'], state: 'failed' } },
  { table: 'slow_questions', values: { ...APP, fields: ['level'], total_ms: 30, max_ms: 30 } },
];

/** By schema, in an order that foreign keys accept. A new table needs a row here. */
const ROWS: Readonly<Record<string, readonly EarlierRow[]>> = {
  console: [
    { table: 'operators', values: { id: OPERATOR, address: 'operator@example.com' } },
    { table: 'grants', values: { operator_id: OPERATOR, app_id: EARLIER_APP.id, role: 'support' } },
    { table: 'sessions', values: { operator_id: OPERATOR, ends_at: FAR } },
    { table: 'links', values: { operator_id: OPERATOR, kind: 'recovery', ends_at: FAR } },
    { table: 'attempts', values: { key: 'network:192.0.2.1', times: [AT] } },
    { table: 'one_time_codes', values: { operator_id: OPERATOR, is_confirmed: true } },
    { table: 'recovery_codes', values: { operator_id: OPERATOR } },
    { table: 'passkeys', values: { operator_id: OPERATOR } },
    { table: 'challenges', values: { operator_id: OPERATOR, ends_at: FAR } },
    { table: 'test_devices', values: { ...APP, operator_id: OPERATOR } },
    { table: 'saved_views', values: { ...APP, operator_id: OPERATOR } },
    { table: 'audit', values: { operator_id: OPERATOR, way: 'console', outcome: 'done' } },
  ],
  accounts: [
    {
      table: 'applications',
      values: {
        id: EARLIER_APP.id,
        sealed_app_key: 's1.1518c582.So9xV3n616fqKWmmC2jnFKz8H5L0kuLPNYZVHVAM54Tkc90IUruT',
        sealed_master_key: 's1.1518c582.mxjPJLSZ6NqJBqb6dvNAl7jPQUOqXGFmZbCtjYjEBebouGVWsB-RtCzssj2VdQ',
        settings: {},
        class_permissions: {},
      },
    },
    {
      table: 'old_application_keys',
      values: {
        ...APP,
        kind: 'app',
        sealed_key: 's1.1518c582.b5cp978IA_eaRec6Q_NfgkyCvOdH3SBzo8EAubBpClFsdCe0xvqI_AkReA',
      },
    },
    { table: 'secret_rotations', values: { key_id: '1518c582' } },
    {
      table: 'users',
      values: {
        ...APP,
        object_id: ADA.id,
        username: ADA.username,
        email: 'ada@example.com',
        mobile_phone_number: '+8613900000000',
        password_hash: 'bcrypt-sha256:$2b$04$DCIifvYYiATtRkbzeA7QTOwdUEg0N/IoEPWvxQ8xxPunrLL76qbvu',
        session_token_hash: '\\x9a6b0ef57b373cfa911782ba75d74d7cc7f239e12444c7cfda6c0fae3bf49638',
        sealed_session_token: 's1.1518c582.0h5_Iuq6nWJbOvss9GWA6veDWBaXzNn1fwMwKH7QXmTJnbAPfYeVG4cIE0tZ6Vu6wRqeoNk',
        sealed_identities: 's1.1518c582.pAM9v3GxUnCOhUD_9jUF9jBvYHHPB2aZ6zErIrT0',
        acl: FOR_ALL,
        fields: { score: 7 },
      },
    },
    { table: 'identities', values: { ...APP, platform: 'anonymous', user_id: ADA.id } },
    { table: 'roles', values: { ...APP, object_id: CREW, name: 'crew', acl: FOR_ALL, fields: {} } },
    { table: 'role_users', values: { ...APP, role_id: CREW, user_id: ADA.id } },
    { table: 'role_children', values: { ...APP, role_id: CREW, child_id: CREW } },
    { table: 'lockouts', values: APP },
    { table: 'daily_logins', values: { ...APP, day: '2026-11-22', logins: 3 } },
    { table: 'sms_codes', values: APP },
    { table: 'sms_numberless_guesses', values: APP },
    { table: 'sms_allowances', values: APP },
    { table: 'mail_allowances', values: APP },
    { table: 'application_sms_allowances', values: APP },
    ...INDEX_ROWS,
    { table: 'outbox', values: { pattern: 'user.registered.v1', available_at: FAR } },
    // The lease of a relay that has ended.
    { table: 'outbox_lease', values: { id: 1, held_until: '2026-01-01T00:00:00.000Z' } },
    { table: 'inbox', values: {} },
  ],
  auth_linking: [
    {
      table: 'platform_credentials',
      values: {
        ...APP,
        platform: 'weixin',
        kind: 'weixin',
        shown: { appId: 'wx0123456789' },
        sealed_secrets: 's1.1518c582.jDk_hdUz166FSzPmZ7ZsUyrgoAZ_2KtrxVQ3EF7s',
      },
    },
  ],
  mail: [
    {
      table: 'deliveries',
      values: {
        ...APP,
        id: 'da717698-683f-4ea0-afaf-93665b6dd31d',
        channel: 'mail',
        kind: 'verifyEmail',
        recipient: MAILED,
        status: 'queued',
        attempts: 0,
        sealed_content:
          's1.1518c582.cqI0XmysJKLC0kSiF1g2Bhbi5RqrMCgwsWmO-AwVUdCpqKxFZ5ZhYOFUyv6UCNbnxLnqiS9mxutArPCRYZu7A7M94X1Bv9CDo0FdUgcPdcCbl7xSxLAoGxwQ67fCjpwdVFUmCvXyzQvpN1fLCKB8fA2eDkwWHl9K0GEzfZd9180X6JoLmtdENgq5flfJWvhQrAi4dI2bJ94xcQCGCPdVUSW7SzLK5DucAfL6Wq0BxSBcEY1DX2PikVDQetO8WK2rjQGtXnxuseO17FkWdHCW-fIZlLdr5F2WuNOPvQTLVjrCYsUvj6fuA7xgIH0j95Aabfa_VP1jCeUjckMVlqbmilb92j5UE24TKx3LGPHv2ZPJMi6n4BiNECsnjiUxV_nxpjMhPo5_syL4xmrhmHWuIw5vcms8TPWmcQ',
        expires_at: FAR,
        give_up_at: FAR,
        lease: null,
        settled_at: null,
      },
    },
    { table: 'deliveries', values: { ...APP, channel: 'sms', status: 'sent' } },
    { table: 'recipients', values: APP },
    { table: 'allowances', values: APP },
    { table: 'inbox', values: {} },
    { table: 'templates', values: APP },
    { table: 'text_message_providers', values: APP },
  ],
  push: [
    {
      table: 'installations',
      values: {
        ...APP,
        object_id: INSTALLATION,
        partition: 15,
        installation_id: 'earlier-installation',
        device_type: 'android',
        acl: FOR_ALL,
        fields: { channels: ['news'] },
      },
    },
    {
      table: 'notifications',
      values: {
        ...APP,
        object_id: NOTIFICATION,
        // Sequence numbers of the test's own server begin at 1.
        seq: 1_000_000,
        status: 'done',
        target: { where: [{ channels: { $in: ['news'] } }] },
        data: { alert: 'earlier push' },
        message: { body: '{"alert":"earlier push"}', bodies: {} },
        prod: 'dev',
        counts: { android: { enqueued: 0, targeted: 1, overflowed: 0, unreachable: 0, acknowledged: 0 } },
        due_at: FAR,
        expires_at: FAR,
        next_tally_at: null,
        error: null,
      },
    },
    { table: 'request_ids', values: APP },
    { table: 'connected_counts', values: APP },
    ...INDEX_ROWS,
    { table: 'vendor_batches', values: { ...APP, object_id: NOTIFICATION, next_at: FAR, expires_at: FAR } },
    { table: 'vendor_counts', values: { ...APP, object_id: NOTIFICATION, vendor: 'apns' } },
    { table: 'vendor_credentials', values: { ...APP, vendor: 'earlier' } },
    { table: 'vendor_lanes', values: { ...APP, lane: 'earlier/_default//prod' } },
    { table: 'development_devices', values: { ...APP, object_id: INSTALLATION } },
    { table: 'vendor_senders', values: {} },
    ...['lanes', 'messages', 'queued_messages', 'dropped_messages', 'marks', 'tallies'].map((table) => ({
      table,
      values: APP,
    })),
  ],
};

const BY_TYPE: Readonly<Record<string, unknown>> = {
  bool: true,
  bytea: '\\x0102',
  int2: 1,
  int4: 1,
  int8: 1,
  jsonb: {},
  text: 'filled',
  timestamptz: AT,
  _int4: [1],
  _text: ['filled'],
  _timestamptz: [AT],
  uuid: '0b6f3c0e-5d0e-4a52-9d3f-0c1c5a3f8d11',
};

/** The rows of all tables of a schema, as JSON, in an order of their own. */
type Contents = Readonly<Record<string, readonly Record<string, unknown>[]>>;

/** A connection that reads a schema, and fills it with the data of an earlier version. */
export class SchemaContents {
  private constructor(
    private readonly client: pg.Client,
    private readonly schema: string,
  ) {}

  static async open({ url, schema }: Pick<DatabaseOptions, 'url' | 'schema'>): Promise<SchemaContents> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return new SchemaContents(client, schema);
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  /** Fills the existing tables. Columns that do not exist yet are left out. */
  async fill(): Promise<void> {
    const tables = await this.#tables();
    for (const { table, values } of ROWS[this.schema] ?? []) {
      if (!tables.includes(table)) continue;
      const name = `${this.schema}.${table}`;
      await this.client.query(
        `INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_record(NULL::${name}, $1)`,
        [JSON.stringify({ ...(await this.#filler(table)), ...values })],
      );
    }
  }

  async read(): Promise<Contents> {
    const contents: Record<string, Record<string, unknown>[]> = {};
    for (const table of await this.#tables()) {
      const { rows } = await this.client.query<{ row: Record<string, unknown> }>(
        `SELECT to_jsonb(t) AS row FROM ${this.schema}.${table} t ORDER BY to_jsonb(t)::text`,
      );
      contents[table] = rows.map(({ row }) => row);
    }
    return contents;
  }

  async #tables(): Promise<string[]> {
    const { rows } = await this.client.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1 AND table_name <> 'migrations'`,
      [this.schema],
    );
    return rows.map(({ name }) => name);
  }

  async #filler(table: string): Promise<Record<string, unknown>> {
    const { rows } = await this.client.query<{ name: string; type: string }>(
      `SELECT column_name AS name, udt_name AS type FROM information_schema.columns
        WHERE table_schema = $1 AND table_name = $2`,
      [this.schema, table],
    );
    return Object.fromEntries(rows.map(({ name, type }) => [name, BY_TYPE[type]]));
  }
}
