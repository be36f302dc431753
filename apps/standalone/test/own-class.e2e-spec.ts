import { Column, Entity, type MigrationInterface, PrimaryColumn, type QueryRunner } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type RunningService, Secret, startService } from '#bootstrap';
import { type JsonValue, objectsRpc } from '#contracts';
import { migrate } from '#database';
import { appError } from '#errors';
import { InProcessTransport } from '#messaging';
import { defineClass, type ObjectRow } from '#objects';
import { type ObjectEntity, ObjectsModule } from '#objects/store';
import { ApiClient, newDatabase } from '#testing';
import { accountsDatabase } from '../../accounts/src/accounts.database.js';
import { AccountsModule } from '../../accounts/src/accounts.module.js';
import { AccountsObjectsModule } from '../../accounts/src/objects/objects.module.js';
import { gatewayConfig, gatewayEnvironment } from '../../gateway/src/gateway.config.js';
import { GatewayModule } from '../../gateway/src/gateway.module.js';
import { createHttpServer, prepareHttpServer } from '../../gateway/src/http-server.js';
import { objectEndpoints } from '../../gateway/src/objects/object.endpoints.js';
import { objectsController } from '../../gateway/src/objects/objects.controller.js';

/* One definition, one entity and one migration make a class. */

interface NoteRow extends ObjectRow {
  readonly title: string;
  readonly isPinned: boolean;
}

const noteClass = defineClass<NoteRow>()({
  name: 'Note',
  table: 'accounts.notes',
  description: 'A note.',
  fields: {
    title: {
      schema: z.string().min(1),
      parse: (value: JsonValue) => {
        if (typeof value !== 'string' || value === '')
          throw appError('KEY_REQUIRED', { message: 'A note has a title.' });
        return value;
      },
      missingError: 'KEY_REQUIRED',
      takenError: 'UNIQUE_FIELD_TAKEN',
      query: { type: 'text', isUnique: true },
    },
    isPinned: {
      schema: z.boolean(),
      parse: (value: JsonValue) => value === true,
      initial: false,
      query: { type: 'boolean' },
    },
  },
});

@Entity('notes')
class NoteEntity implements ObjectEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  objectId!: string;

  @Column('text')
  title!: string;

  @Column('boolean')
  isPinned!: boolean;

  @Column('jsonb', { nullable: true })
  acl!: unknown;

  @Column('jsonb')
  fields!: unknown;

  @Column({ type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', precision: 3 })
  updatedAt!: Date;
}

class CreateNotes1900000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE accounts.notes (
        app_id text NOT NULL, object_id text NOT NULL, title text NOT NULL, is_pinned boolean NOT NULL,
        acl jsonb, fields jsonb NOT NULL, created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL,
        PRIMARY KEY (app_id, object_id), CONSTRAINT notes_title_key UNIQUE (app_id, title)
      )`);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const SECRET = new Secret('a secret of thirty-two characters, or more');
const KEYS = { id: 'own-class-app', appKey: 'own-class-app-key', masterKey: 'own-class-master-key' };

describe('a class of one definition, one entity and one migration', () => {
  let server: RunningService;
  let client: ApiClient;
  let session: string;
  let userId: string;

  beforeAll(async () => {
    const databaseUrl = await newDatabase();
    const database = accountsDatabase(databaseUrl, 2);
    await migrate({ ...database, migrations: [...database.migrations, CreateNotes1900000000000] });
    const gateway = gatewayConfig(gatewayEnvironment.parse({}));
    const accounts = {
      databaseUrl,
      databasePool: 4,
      secret: SECRET,
      acceptedSecrets: [],
      passwordCost: 4,
      passwordQueueLimit: 10,
      passwordConcurrency: 1,
      objectLimitBytes: 10_000,
      textMessageLimit: undefined,
      linkLifetimesMs: { verifyEmail: 1, resetPassword: 1 },
      initialApplication: { id: KEYS.id, appKey: new Secret(KEYS.appKey), masterKey: new Secret(KEYS.masterKey) },
    };
    const endpoints = objectEndpoints(noteClass, {
      topic: 'Roles',
      singular: 'a note',
      plural: 'notes',
      fieldErrors: ['KEY_REQUIRED'],
      createErrors: ['UNIQUE_FIELD_TAKEN'],
    });
    const notes = objectsController({
      name: 'Notes',
      objectClass: noteClass,
      paths: ['1.1/classes/Note'],
      contract: objectsRpc,
      endpoints,
    });
    server = await startService({
      name: 'accounts',
      serves: ['accounts'],
      imports: [
        GatewayModule.forRoot(gateway, { requestCounts: 'memory', classes: [notes] }),
        AccountsModule.forRoot(accounts, { lockouts: 'postgresql' }),
        ObjectsModule.forClass(AccountsObjectsModule, { objectClass: noteClass, entity: NoteEntity }),
      ],
      env: {
        GATEPOST_DRAIN_SECONDS: 0,
        GATEPOST_HOST: '127.0.0.1',
        GATEPOST_LOG_LEVEL: 'error',
        GATEPOST_PORT: 0,
      } as never,
      transport: () => new InProcessTransport(),
      http: createHttpServer(gateway),
      prepare: prepareHttpServer,
    });
    client = ApiClient.forApp(`http://127.0.0.1:${server.port}`, KEYS);
    const { body } = await client.post('/1.1/users', { username: 'ada', password: 'p' });
    session = String(body['sessionToken']);
    userId = String(body['objectId']);
  });
  afterAll(() => server.stop());

  it('creates, gets, changes and removes objects, with custom fields and ACL', async () => {
    const ACL = { [userId]: { read: true, write: true } };
    const created = await client.post('/1.1/classes/Note', { title: 'one', level: 1, ACL });
    expect([created.status, Object.keys(created.body)]).toEqual([201, ['objectId', 'createdAt']]);
    const path = `/1.1/classes/Note/${String(created.body['objectId'])}`;
    expect((await client.get(path)).body).toEqual({});
    expect((await client.get(path, { session })).body).toMatchObject({ title: 'one', isPinned: false, level: 1 });
    expect(await client.put(path, { isPinned: true })).toMatchObject({ status: 403, body: { code: 403 } });
    const changes = { isPinned: true, level: { __op: 'Increment', amount: 2 } };
    const changed = await client.put(`${path}?fetchWhenSave=true`, changes, { session });
    expect(changed.body).toMatchObject({ isPinned: true, level: 3 });
    expect((await client.delete(path, { session })).status).toBe(200);
    expect((await client.get(path, { session })).body).toEqual({});
  });

  it('finds and counts them by columns and custom fields', async () => {
    for (const [title, level] of [
      ['a', 1],
      ['b', 2],
      ['c', 2],
    ] as const)
      await client.post('/1.1/classes/Note', { title, level });
    const find = async (where: object) =>
      (await client.get(`/1.1/classes/Note?count=1&order=-title&where=${encodeURIComponent(JSON.stringify(where))}`))
        .body;
    expect(await find({ level: 2 })).toMatchObject({ count: 2, results: [{ title: 'c' }, { title: 'b' }] });
    expect(await find({ title: 'a' })).toMatchObject({ count: 1, results: [{ level: 1 }] });
  });

  it('saves several at once, all or none', async () => {
    const save = (...titles: unknown[]) =>
      client.post('/1.1/batch/save', {
        requests: titles.map((title, index) => ({
          method: 'POST',
          path: '/1.1/classes/Note',
          body: { __internalId: String(index), title },
        })),
      });
    expect(Object.keys((await save('first', 'second')).body)).toEqual(['0', '1']);
    expect((await save('third', 'first')).body['code']).toBe(appError('UNIQUE_FIELD_TAKEN').code);
    const where = encodeURIComponent(JSON.stringify({ title: 'third' }));
    expect((await client.get(`/1.1/classes/Note?where=${where}`)).body).toEqual({ results: [] });
  });

  it('refuses what its definition refuses, before a service receives it', async () => {
    const post = async (body: object) => (await client.post('/1.1/classes/Note', body)).body['code'];
    expect(await post({ title: 'taken' })).toBeUndefined();
    expect(await post({ title: 'taken' })).toBe(appError('UNIQUE_FIELD_TAKEN').code);
    expect(await post({ title: 7 })).toBe(appError('KEY_REQUIRED').code);
    expect(await post({})).toBe(appError('KEY_REQUIRED').code);
    expect(await post({ title: 'x', createdAt: 'now' })).toBe(appError('READ_ONLY_KEY').code);
    expect(await post({ title: 'x', 'title.a': 1 })).toBe(appError('INVALID_KEY_NAME').code);
  });
});
