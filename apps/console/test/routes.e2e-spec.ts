import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  consoleApi,
  type ConsoleRoute,
  PERMISSIONS,
  permissionsFor,
  type Permission,
  type Role,
  ROLE_PERMISSIONS,
  ROLES,
} from '#console-api';
import * as contracts from '#contracts';
import type { RpcContract } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { PASSWORD, TestConsole, type Visitor } from './console-service.js';

const OWN = 'shop';
const FOREIGN = 'foreign';
const CANARY = 'canary-of-a-secret';

const routes = Object.entries<ConsoleRoute>(consoleApi);
/** Routes that a test may call as often as it likes: those of the own session would end it. */
const SESSION_ROUTES = new Set(['signIn', 'setUp', 'useLink', 'signOut', 'prove', 'changeMyPassword', 'endMySession']);
const ordinary = routes.filter(([name]) => !SESSION_ROUTES.has(name));
const audited = routes.filter(([, { isRead }]) => !isRead);
const changing = audited.filter(([, { method }]) => method !== 'GET');
/** Acts on what an operator keeps in the console. */
const OWN_ACTS = new Set(['unmarkTestDevice', 'saveView', 'deleteView']);
/** Acts that RPCs of other services do: a test plans their outcome. */
const remote = audited.filter(([name, { path }]) => path.startsWith('/apps') && !OWN_ACTS.has(name));
const forbidden = audited.filter(
  ([, { access }]) =>
    PERMISSIONS.includes(access as Permission) && !ROLE_PERMISSIONS.viewer.includes(access as Permission),
);

let console: TestConsole;
let owner: Visitor;
let strict: TestConsole;
/** An owner without a second factor, where one is required. */
let lacking: Visitor;
const operators = new Map<Role, Visitor>();

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
  for (const role of ROLES) operators.set(role, await console.withRole(owner, role, OWN));
  strict = await TestConsole.start({ GATEPOST_CONSOLE_SECOND_FACTOR: 'required' });
  lacking = await strict.owner();
  // A push to test devices asks no service without one.
  await console.database.query(
    `INSERT INTO console.test_devices (operator_id, app_id, device_id) SELECT id, $1, 'device1' FROM console.operators`,
    [OWN],
  );
});
afterAll(() => Promise.all([console.stop(), strict.stop()]));
beforeEach(() => {
  for (const contract of remoteContracts()) console.transport.answer(contract, () => sampleOf(contract.reply) as never);
});

describe.each([OWN, FOREIGN])('a route, for the application %s', (appId) => {
  const cases = ordinary.flatMap(([name, route]) => ROLES.map((role) => ({ name, route, role })));

  it.each(cases)('$name, as $role', async ({ route, role }) => {
    const { status, body } = await operators.get(role)!.call(route, requestOf(route, appId));
    const isForApp = route.path.includes(':appId');
    const grants = [{ appId: OWN, role }];
    const permissions = permissionsFor({ isOwner: false, grants }, isForApp ? appId : '*');
    const { access } = route;
    if (isForApp && appId === FOREIGN) expect([status, body['name']]).toEqual([404, 'NOT_FOUND']);
    else if (access === 'anyone' || access === 'operator' || access === 'self' || permissions.includes(access))
      expect([401, 403]).not.toContain(status);
    else
      expect([status, body['name'], body['error']]).toEqual([403, 'FORBIDDEN', `This needs the permission ${access}.`]);
  });

  it.each(ordinary)('%s, as owner', async (_, route) => {
    const { status } = await owner.call(route, requestOf(route, appId));
    expect([401, 403]).not.toContain(status);
  });
});

it.each(routes.filter(([, { access }]) => access !== 'anyone'))('%s needs a session', async (_, route) => {
  const { status, body } = await console.visitor().call(route, requestOf(route, OWN));
  expect([status, body['name']]).toEqual([401, 'UNAUTHORIZED']);
});

it.each(routes.filter(([, { needsProof }]) => needsProof))('%s needs a fresh proof', async (name, route) => {
  await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
  const { status, body } = await owner.call(route, requestOf(route, OWN));
  await console.database.query('UPDATE console.sessions SET proven_at = now()');
  expect([status, body['name']]).toEqual([403, 'PROOF_REQUIRED']);
  expect(await lastEntry()).toMatchObject({ action: name, outcome: 'refused', error_name: 'PROOF_REQUIRED' });
});

it.each(['email', 'emailVerified', 'mobilePhoneNumber', 'mobilePhoneVerified'])(
  'a change of %s of a user, by which passwords are reset, needs a fresh proof',
  async (field) => {
    await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
    const [params, body] = [
      { appId: OWN, userId: 'user1' },
      { updatedAt: new Date().toISOString(), changes: { [field]: '' } },
    ];
    const { status, body: answer } = await owner.call(consoleApi.changeUser, { params, body });
    await console.database.query('UPDATE console.sessions SET proven_at = now()');
    expect([status, answer['name']]).toEqual([403, 'PROOF_REQUIRED']);
  },
);

it.each(routes.filter(([, { access }]) => access !== 'anyone' && access !== 'self'))(
  '%s needs the second factor that the role needs',
  async (_, route) => {
    const { status, body } = await lacking.call(route, requestOf(route, OWN));
    expect([status, body['name']]).toEqual([403, 'SECOND_FACTOR_MISSING']);
  },
);

describe('a request of another site', () => {
  const others: [string, Readonly<Record<string, string | undefined>>][] = [
    ['of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['of another port of the same host', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' }],
    ['of another origin that claims to be the same', { origin: 'https://evil.example' }],
    ['of the origin null', { origin: 'null' }],
    ['without an origin', { origin: undefined }],
    ['of an old browser', { 'sec-fetch-site': undefined }],
    ['typed into the address bar', { 'sec-fetch-site': 'none' }],
    ['of a form', { 'content-type': 'text/plain' }],
    ['without the header of the page', { 'x-gatepost-console': undefined }],
    ['of an image of the same page', { 'sec-fetch-dest': 'image' }],
    ['to another host', { host: 'evil.example' }],
    ['to another port', { host: 'localhost:1' }],
  ];
  const cases = changing.flatMap(([name, route]) => others.map(([what, headers]) => ({ name, route, what, headers })));

  it.each(cases)('$what is refused by $name, and does nothing', async ({ route, headers }) => {
    const before = await countEntries();
    const calls = console.transport.calls.length;
    const { status, body } = await owner.call(route, { ...requestOf(route, OWN), headers });
    expect([status, body['name']]).toEqual([403, 'FORBIDDEN']);
    expect([await countEntries(), console.transport.calls.length]).toEqual([before, calls]);
  });

  it.each(routes.filter(([, { method }]) => method === 'GET'))('cannot probe %s', async (_, route) => {
    for (const site of ['cross-site', 'same-site', 'none', undefined]) {
      const { status } = await owner.call(route, { ...requestOf(route, OWN), headers: { 'sec-fetch-site': site } });
      expect(status).toBe(403);
    }
  });
});

it.each(routes.filter(([, { method }]) => method === 'GET'))('%s answers scripts only', async (_, route) => {
  const asked = async (dest: string) =>
    (await owner.call(route, { ...requestOf(route, OWN), headers: { 'sec-fetch-dest': dest } })).status;
  for (const dest of ['image', 'style', 'document', 'iframe']) expect(await asked(dest)).toBe(403);
  expect(await asked('empty')).not.toBe(403);
});

describe('a body', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  it.each([
    ['nested 400,000 levels deep', nested(400_000), 'MALFORMED_JSON'],
    ['with a member that is too deep', `{"address":${nested(65)}}`, 'MALFORMED_JSON'],
    ['with a member of another form', `{"address":${nested(64)}}`, 'INCORRECT_TYPE'],
    ['with a member named like a prototype', '{"address":{"__proto__":1}}', 'INVALID_KEY_NAME'],
    ['that is no JSON', '{', 'MALFORMED_JSON'],
  ])('%s is refused without a session', async (_, text, errorName) => {
    const headers = {
      host: `localhost:${console.port}`,
      origin: console.origin,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
      'x-gatepost-console': '1',
    };
    const { status, body } = await console.visitor().send('POST', '/api/sign-in', { headers, text });
    expect([status, body['name']]).toEqual([400, errorName]);
  });

  it.each(['POST /api/none', 'OPTIONS /api/apps', 'POST /', 'PUT /assets/none', 'POST /healthz'])(
    'that is no JSON is refused by %s, which is no route',
    async (route) => {
      const [method = '', path = ''] = route.split(' ');
      const headers = { origin: console.origin, 'content-type': 'application/json', 'x-gatepost-console': '1' };
      const host = { host: `localhost:${console.port}`, 'sec-fetch-site': 'same-origin' };
      const answer = await console.visitor().send(method, path, { headers: { ...headers, ...host }, text: '{' });
      expect([answer.status, answer.body['name']]).toEqual([400, 'MALFORMED_JSON']);
    },
  );
});

describe('the audit log', () => {
  it.each(audited)('has one entry of %s', async (name, route) => {
    const visitor = SESSION_ROUTES.has(name) ? await anotherSession() : owner;
    const before = await countEntries();
    const { status, body } = await visitor.call(route, requestOf(route, OWN));
    expect(await countEntries()).toBe(before + 1);
    const outcome = status < 300 ? 'done' : 'refused';
    // The entry of an export ends after the file.
    await expect.poll(lastEntry).toMatchObject({ action: name, outcome, error_name: body['name'] ?? null });
    expect((await lastEntry())['ended_at']).not.toBeNull();
  });

  const outcomes: [ErrorName, string][] = [
    ['INCORRECT_TYPE', 'refused'],
    ['INTERNAL', 'failed'],
    ['SERVICE_UNAVAILABLE', 'unknown'],
  ];

  it.each(remote.flatMap(([name, route]) => outcomes.map(([error, outcome]) => ({ name, route, error, outcome }))))(
    'has one entry of $name with the outcome $outcome',
    async ({ name, route, error, outcome }) => {
      for (const contract of remoteContracts()) console.transport.fail(contract, appError(error));
      const before = await countEntries();
      await owner.call(route, requestOf(route, OWN));
      expect(await countEntries()).toBe(before + 1);
      expect(await lastEntry()).toMatchObject({ action: name, app_id: appIn(route), outcome, error_name: error });
    },
  );

  it.each(remote.filter(([, { file }]) => file === null))(
    'has one entry of %s with the outcome unknown where a query takes too long, which can follow the write',
    async (name, route) => {
      for (const contract of remoteContracts()) console.transport.fail(contract, appError('QUERY_TIMED_OUT'));
      await owner.call(route, requestOf(route, OWN));
      expect(await lastEntry()).toMatchObject({ action: name, outcome: 'unknown', error_name: 'QUERY_TIMED_OUT' });
    },
  );

  const ofForeign = audited.filter(([, { path }]) => path.includes(':appId'));
  it.each(ofForeign)('has one entry of %s that a foreign application refuses', async (name, route) => {
    const before = await countEntries();
    const call = { ...requestOf(route, FOREIGN), body: { text: CANARY } };
    expect((await operators.get('developer')!.call(route, call)).status).toBe(404);
    expect(await countEntries()).toBe(before + 1);
    const refused = { app_id: FOREIGN, change: {}, outcome: 'refused', error_name: 'NOT_FOUND' };
    expect(await lastEntry()).toMatchObject({ action: name, ...refused });
    const { body } = await owner.call(consoleApi.listAudit, { query: { appId: FOREIGN, limit: '1' } });
    expect(body).toMatchObject({ items: [{ action: name, outcome: 'refused' }] });
  });

  it.each(forbidden)('has one entry of a malformed %s that is forbidden', async (name, route) => {
    const before = await countEntries();
    const call = { ...requestOf(route, OWN), query: { format: 'none' }, body: { [CANARY]: [] } };
    const mayDoIt = (ROLE_PERMISSIONS.support as readonly string[]).includes(route.access);
    const { status, body } = await operators.get(mayDoIt ? 'viewer' : 'support')!.call(route, call);
    expect([status, body['name']]).toEqual([403, 'FORBIDDEN']);
    expect(await countEntries()).toBe(before + 1);
    const refused = { app_id: appIn(route), change: {}, outcome: 'refused', error_name: 'FORBIDDEN' };
    expect(await lastEntry()).toMatchObject({ action: name, ...refused });
  });

  it('has the input of a well-formed act that is forbidden', async () => {
    const { status } = await operators
      .get('viewer')!
      .call(consoleApi.rotateKeys, requestOf(consoleApi.rotateKeys, OWN));
    expect([status, (await lastEntry())['change']]).toEqual([403, expect.objectContaining({ keepOldSeconds: 60 })]);
  });

  it('has no entry of an application id that no application can have, nor of a foreign page', async () => {
    const before = await countEntries();
    const rotate = requestOf(consoleApi.rotateKeys, 'x'.repeat(65));
    expect((await operators.get('developer')!.call(consoleApi.rotateKeys, rotate)).status).toBe(400);
    const list = requestOf(consoleApi.listUsers, FOREIGN);
    expect((await operators.get('developer')!.call(consoleApi.listUsers, list)).status).toBe(404);
    expect(await countEntries()).toBe(before);
  });

  it('has the entry before the act is done', async () => {
    let during: unknown;
    console.transport.answer(contracts.applicationsRpc.rotateKeys, async () => {
      during = (await lastEntry())['outcome'];
      return sampleOf(contracts.applicationsRpc.rotateKeys.reply) as never;
    });
    await owner.call(consoleApi.rotateKeys, requestOf(consoleApi.rotateKeys, OWN));
    expect([during, (await lastEntry())['outcome']]).toEqual(['begun', 'done']);
  });

  it('prevents an act that it cannot record', async () => {
    await console.database.query('ALTER TABLE console.audit RENAME TO audit_away');
    const calls = console.transport.calls.length;
    const { status } = await owner.call(consoleApi.rotateKeys, requestOf(consoleApi.rotateKeys, OWN));
    await console.database.query('ALTER TABLE console.audit_away RENAME TO audit');
    expect([status, console.transport.calls.length]).toEqual([500, calls]);
  });

  it.each([
    `UPDATE console.audit SET operator_name = 'another'`,
    `UPDATE console.audit SET outcome = 'done' WHERE outcome <> 'begun'`,
    'DELETE FROM console.audit',
    'TRUNCATE console.audit',
  ])('refuses %s', async (statement) => {
    await expect(console.database.query(statement)).rejects.toThrow(/SQLSTATE P0001/);
  });

  it.each([
    [null, true],
    ['d2b0a1f6-90c1-4f4e-9d26-5a2f1c7f5a3b', false],
  ])('lets an open entry of the operator %s get an operator: %s', async (operatorId, isAllowed) => {
    const [entry] = await console.database.query<{ id: string }>(
      `INSERT INTO console.audit (id, operator_id, operator_name, way, action, change, request_id)
       VALUES (gen_random_uuid(), $1, '', 'console', 'signIn', '{}', 'open') RETURNING id`,
      [operatorId],
    );
    const ended = console.database.query(
      `UPDATE console.audit SET outcome = 'done', operator_id = gen_random_uuid(), operator_name = 'Eve' WHERE id = $1`,
      [entry?.id],
    );
    await (isAllowed ? ended : expect(ended).rejects.toThrow(/SQLSTATE P0001/));
  });

  it('calls an act that was cut off unknown', async () => {
    await console.database.query(
      `INSERT INTO console.audit (id, begun_at, operator_name, way, action, change, request_id)
       VALUES (gen_random_uuid(), now() - interval '2 minutes', 'Ada', 'console', 'cutOff', '{}', 'r')`,
    );
    const list = async (filter: { readonly outcome?: string } = {}) =>
      (await owner.call(consoleApi.listAudit, { query: { action: 'cutOff', ...filter } })).body;
    expect(await list()).toMatchObject({ items: [{ outcome: 'unknown', endedAt: null }] });
    expect(await list({ outcome: 'unknown' })).toMatchObject({ items: [{ outcome: 'unknown' }] });
    expect(await list({ outcome: 'begun' })).toMatchObject({ items: [] });
  });

  it('shows an operator own acts, a developer also those on the application', async () => {
    await owner.call(consoleApi.revokeOldKeys, requestOf(consoleApi.revokeOldKeys, OWN));
    await owner.call(consoleApi.revokeOldKeys, requestOf(consoleApi.revokeOldKeys, FOREIGN));
    const appsOf = async (visitor: Visitor) => {
      const query = { action: 'revokeOldKeys', outcome: 'done', limit: '200' };
      const { body } = await visitor.call(consoleApi.listAudit, { query });
      return new Set((body as { items: { appId: string }[] }).items.map(({ appId }) => appId));
    };
    expect(await appsOf(owner)).toEqual(new Set([OWN, FOREIGN]));
    expect(await appsOf(operators.get('developer')!)).toEqual(new Set([OWN]));
    expect((await appsOf(operators.get('viewer')!)).has(FOREIGN)).toBe(false);
  });

  it('pages through all entries, newest first', async () => {
    const ids: string[] = [];
    let after: string | undefined;
    do {
      const query = { limit: '100', ...(after === undefined ? {} : { after }) };
      const { body } = await owner.call(consoleApi.listAudit, { query });
      const { items, next } = body as { items: { id: string }[]; next: string | null };
      ids.push(...items.map(({ id }) => id));
      after = next ?? undefined;
    } while (after !== undefined);
    expect(ids).toHaveLength(await countEntries());
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a secret', () => {
  it.each(routes)('is in no answer of %s, nor in its entry', async (name, route) => {
    const visitor = SESSION_ROUTES.has(name) ? await anotherSession() : owner;
    const { text } = await visitor.call(route, requestOf(route, OWN));
    expect(text).not.toContain(CANARY);
    const entries = await console.database.query<{ row: string }>(
      `SELECT to_jsonb(a)::text AS row FROM console.audit a ORDER BY begun_at DESC LIMIT 5`,
    );
    for (const { row } of entries) {
      expect(row).not.toContain(CANARY);
      expect(row).not.toContain(PASSWORD);
    }
    const [hash] = await console.database.query<{ hash: string }>(
      'SELECT password_hash AS hash FROM console.operators WHERE password_hash IS NOT NULL LIMIT 1',
    );
    expect(text).not.toContain(hash?.hash);
  });
});

/** A session that may end. */
function anotherSession(): Promise<Visitor> {
  return console.withRole(owner, 'viewer', OWN);
}

function appIn({ path }: ConsoleRoute): string | null {
  return path.includes(':appId') ? OWN : null;
}

async function countEntries(): Promise<number> {
  const [row] = await console.database.query<{ count: number }>('SELECT count(*)::int AS count FROM console.audit');
  return row?.count ?? 0;
}

async function lastEntry(): Promise<Record<string, unknown>> {
  const [row] = await console.database.query<Record<string, unknown>>(
    'SELECT * FROM console.audit ORDER BY begun_at DESC, ended_at DESC NULLS FIRST LIMIT 1',
  );
  return row ?? {};
}

function remoteContracts(): RpcContract[] {
  return Object.entries(contracts)
    .filter(([name]) => name.endsWith('Rpc'))
    .flatMap(([, group]) => Object.values(group as Record<string, RpcContract>));
}

/** A well-formed request. */
function requestOf(route: ConsoleRoute, appId: string) {
  const { params, body, query } = route;
  const texts = (value: unknown) => value as Record<string, string>;
  const path = texts(sampleOf(params));
  return {
    params: { ...path, ...('appId' in path ? { appId } : {}) },
    query: texts(sampleOf(query)),
    body: { ...(sampleOf(body) as object), ...BODIES.get(route) },
  };
}

/** Members of bodies that handlers check, and secrets that go in. */
const vendor = { vendor: 'apns', profile: '_default' };
const fields = { privateKey: CANARY };
const BODIES = new Map<ConsoleRoute, object>([
  [consoleApi.changeUser, { updatedAt: '2026-01-01T00:00:00.000Z' }],
  [consoleApi.saveView, { isShared: false }],
  [consoleApi.setPlatform, { kind: 'weixin', fields }],
  [consoleApi.setTextMessageProvider, { kind: 'webhook', fields }],
  [consoleApi.setVendor, { ...vendor, fields }],
  [consoleApi.checkVendor, { ...vendor, part: '' }],
  [consoleApi.changeVendorLanes, { ...vendor, part: '' }],
  [consoleApi.removeVendor, { ...vendor, part: '' }],
]);

/** Members of services' replies that no operator may see. */
const SECRET_MEMBERS = new Set(['masterKey', 'forwardSecret', 'sessionToken', 'publicKey']);

/** Values for members whose form a schema states by an expression. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  code: '123456',
  address: 'new@example.com',
  appId: OWN,
  className: '_User',
  createdAt: '2026-01-01T00:00:00.000Z',
  keepOldSeconds: 60,
  language: 'en',
  name: 'Name',
  newPassword: PASSWORD,
  oldKeys: [{ kind: 'master', key: CANARY, replacedAt: '2026-01-01T00:00:00.000Z', acceptedUntil: null }],
  oldPassword: PASSWORD,
  password: PASSWORD,
  platform: 'weixin',
  service: 'mail',
  token: 'x'.repeat(43),
  url: 'https://example.com',
};

/** The smallest value that a schema accepts; secrets are canaries. */
function sampleOf(schema: z.ZodType, name = ''): unknown {
  if (SECRET_MEMBERS.has(name) && schema.safeParse(CANARY).success) return CANARY;
  if (SAMPLES[name] !== undefined && schema.safeParse(SAMPLES[name]).success) return SAMPLES[name];
  if (schema instanceof z.ZodObject) return sampleObject(schema);
  if (schema instanceof z.ZodUnion) return sampleOf(schema.options[0] as z.ZodType, name);
  if (schema instanceof z.ZodPrefault) return sampleOf(schema.unwrap() as z.ZodType, name);
  return sampleValue(schema, name);
}

function sampleObject({ shape }: z.ZodObject): object {
  const isNeeded = ([key, member]: [string, z.ZodType]) =>
    SAMPLES[key] !== undefined || !(member instanceof z.ZodOptional || member instanceof z.ZodDefault);
  const needed = Object.entries(shape as Record<string, z.ZodType>).filter(isNeeded);
  return Object.fromEntries(needed.map(([key, member]) => [key, sampleOf(member, key)]));
}

function sampleValue(schema: z.ZodType, name: string): unknown {
  if (schema instanceof z.ZodEnum) return schema.options[0];
  const items = schema instanceof z.ZodArray ? [[], [sampleOf(schema.element as z.ZodType, name)]] : [];
  const texts = ['text', '2026-01-01T00:00:00.000Z', '00000000-0000-4000-8000-000000000000', 'abcdef01'];
  const user = { objectId: 'text', sessionToken: CANARY, updatedAt: '2026-01-01T00:00:00.000Z' };
  const value = [null, ...items, ...texts, 1, true, {}, user].find((each) => schema.safeParse(each).success);
  if (value === undefined) throw new Error(`the test knows no value for ${name}`);
  return value;
}
