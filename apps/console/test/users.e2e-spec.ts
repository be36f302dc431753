import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHANGED_SINCE, consoleApi, type ConsoleRoute, type Role, ROLES } from '#console-api';
import {
  accountsRpc,
  applicationsRpc,
  type FoundUser,
  lockoutsRpc,
  objectsRpc,
  templatesRpc,
  userSearchRpc,
} from '#contracts';
import { appError } from '#errors';
import { TestConsole, type Visitor } from './console-service.js';

const APP = 'shop';
const at = '2026-01-02T03:04:05.678Z';
const NAMES = ['anna', 'ada.l@example.com', '+8613800001234'];
const MASKED = ['anna', 'a…@example.com', '…1234'];
const total = { value: 5_000, isExact: false };

const userOf = (username: string, index: number): FoundUser => ({
  objectId: `user${index}`,
  username,
  email: null,
  emailVerified: null,
  mobilePhoneNumber: null,
  mobilePhoneVerified: false,
  hasPassword: true,
  platforms: [],
  createdAt: at,
  updatedAt: at,
  lockedUntil: null,
});

let console: TestConsole;
let owner: Visitor;
const operators = new Map<Role, Visitor>();

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
  for (const role of ROLES) operators.set(role, await console.withRole(owner, role, APP));
});
afterAll(() => console.stop());
beforeEach(() => {
  console.transport.calls.length = 0;
  console.transport.answer(userSearchRpc.search, ({ after }) => ({
    users: NAMES.map(userOf),
    next: after === undefined ? { key: at, objectId: 'user2' } : null,
    total: after === undefined ? total : null,
  }));
  console.transport.answer(lockoutsRpc.list, () => ({
    lockedUsers: NAMES.map((username, index) => ({ userId: `user${index}`, username, lockedUntil: at })),
  }));
});

const as = async (role: Role, route: ConsoleRoute, query: Readonly<Record<string, string>> = {}, appId = APP) => {
  const { status, body } = await operators.get(role)!.call(route, { params: { appId }, query });
  return { status, body, items: (body['items'] ?? []) as { username: string }[], next: body['next'] as string | null };
};

describe.each([
  ['viewer', MASKED],
  ['support', NAMES],
] as const)('as %s', (role, shown) => {
  it.each(['listUsers', 'listLockouts'] as const)('%s shows usernames as the role may see them', async (name) => {
    const { items } = await as(role, consoleApi[name]);
    expect(items.map(({ username }) => username)).toEqual(shown);
  });
});

it.each([
  ['viewer', true],
  ['support', false],
] as const)('a search by %s leaves out masked usernames: %s', async (role, withoutContactNames) => {
  for (const mode of ['prefix', 'contains'])
    expect((await as(role, consoleApi.listUsers, { text: 'ann', in: 'username', mode })).status).toBe(200);
  const asked = { text: 'ann', in: 'username', withoutContactNames };
  expect(console.transport.requestsOf(userSearchRpc.search)).toMatchObject([asked, asked]);
});

describe('the users of a role', () => {
  const list = (role: Role, query: Readonly<Record<string, string>>) =>
    operators.get(role)!.call(consoleApi.listRoleUsers, { params: { appId: APP, roleId: 'role1' }, query });

  beforeEach(() => {
    console.transport.answer(objectsRpc.find, () => ({
      results: NAMES.map((username, index) => ({ objectId: `user${index}`, username })),
    }));
  });

  it.each([
    ['viewer', MASKED],
    ['support', NAMES],
  ] as const)(
    'are shown to %s with the names that the role may see, and a place for the next page',
    async (role, shown) => {
      const { body } = await list(role, { limit: '2', after: 'user' });
      const usernames = (body['items'] as { username: string }[]).map(({ username }) => username);
      expect([usernames, body['next']]).toEqual([shown.slice(0, 2), 'user1']);
      expect(console.transport.requestsOf(objectsRpc.find)).toMatchObject([
        { where: { objectId: { $gt: 'user' } }, order: 'objectId', limit: 3 },
      ]);
    },
  );

  it('are found by the beginning of a name, except by roles that may not see names', async () => {
    expect((await list('viewer', { text: 'ann' })).status).toBe(403);
    for (const text of ['a.b', '𠮷野', '😀x']) await list('support', { text });
    expect(console.transport.requestsOf(objectsRpc.find)).toMatchObject(
      [String.raw`^a\.b`, '^𠮷野', String.raw`^\😀x`].map(($regex) => ({
        where: { username: { $regex, $options: 'i' } },
      })),
    );
  });
});

it('an access list of a role is written only where the role is as the operator has seen it', async () => {
  console.transport.answer(objectsRpc.get, () => ({ object: { objectId: 'role1', name: 'staff', ACL: {} } }));
  console.transport.answer(objectsRpc.find, () => ({ results: [] }));
  console.transport.fail(objectsRpc.update, appError('NO_EFFECT'));
  const updatedAt = '2026-01-31T12:00:00.000Z';
  const change = { params: { appId: APP, roleId: 'role1' }, body: { ACL: { '*': { read: true } }, updatedAt } };
  const { status, body } = await owner.call(consoleApi.changeRole, change);
  expect([status, body['error']]).toEqual([400, expect.stringContaining('has changed since')]);
  expect(console.transport.requestsOf(objectsRpc.update)).toMatchObject([
    { where: { updatedAt: { __type: 'Date', iso: updatedAt } } },
  ]);
});

describe('an undo', () => {
  const user = { objectId: 'u1', updatedAt: at, level: 1, token: 'former' };
  const changeUser = (body: unknown) =>
    owner.call(consoleApi.changeUser, { params: { appId: APP, userId: 'u1' }, body });
  const newest = async (visitor: Visitor) => {
    const { body } = await visitor.call(consoleApi.listAudit, { query: { appId: APP, limit: '1' } });
    return (body['items'] as { undo: unknown; outcome: string }[])[0];
  };

  beforeEach(() => {
    const state = { linkedAccounts: [], roles: [], hasPassword: true };
    const lockout = { lockedUntil: null, lockedSince: null, failures: 0, failedLogins: [] };
    console.transport.answer(userSearchRpc.describe, () => ({ user, lockout, ...state }));
    console.transport.answer(accountsRpc.updateUser, ({ changes }) => ({ result: { updatedAt: at, ...changes } }));
    console.transport.answer(objectsRpc.get, () => ({
      object: { objectId: 'role1', name: 'staff', ACL: { '*': { read: true } }, createdAt: at, updatedAt: at },
    }));
    console.transport.answer(objectsRpc.update, () => ({ result: {} }));
  });

  it('of a user writes the former value over the written one, at the time of the user that was compared', async () => {
    const { body } = await changeUser({ updatedAt: at, changes: { level: 2, score: 7 } });
    const undo = {
      action: 'changeUser',
      params: { appId: APP, userId: 'u1' },
      body: { changes: { level: 1, score: { __op: 'Delete' } }, former: { level: 2, score: 7 } },
    };
    expect(body['undo']).toEqual(undo);
    expect(await newest(owner)).toMatchObject({ outcome: 'done', undo });
    expect(await newest(operators.get('developer')!)).toMatchObject({ undo });

    console.transport.calls.length = 0;
    expect((await changeUser({ changes: { level: 3 }, former: { level: 1 } })).status).toBe(200);
    expect(console.transport.requestsOf(accountsRpc.updateUser)).toMatchObject([
      { where: { updatedAt: { iso: user.updatedAt } } },
    ]);
  });

  it('of a user with as many fields as one may have writes them over as many', async () => {
    const fields = (character: string) => ({ text: character.repeat(1_048_000) });
    const lockout = { lockedUntil: null, lockedSince: null, failures: 0, failedLogins: [] };
    const described = { user: { ...user, ...fields('n') }, linkedAccounts: [], roles: [], hasPassword: true, lockout };
    console.transport.answer(userSearchRpc.describe, () => described);
    expect((await changeUser({ changes: fields('f'), former: fields('n') })).status).toBe(200);
  });

  it('is not offered again once it is done; the undo of the undo is', async () => {
    const stored = (level: number) => {
      const lockout = { lockedUntil: null, lockedSince: null, failures: 0, failedLogins: [] };
      const state = { linkedAccounts: [], roles: [], hasPassword: true, lockout };
      console.transport.answer(userSearchRpc.describe, () => ({ user: { ...user, level }, ...state }));
    };
    const undone = async (limit: number) => {
      const { body } = await owner.call(consoleApi.listAudit, { query: { appId: APP, limit: String(limit) } });
      return (body['items'] as { isUndone: boolean }[]).map(({ isUndone }) => isUndone);
    };
    const change = { changes: { level: 2 }, former: { level: 1 } };
    const undo = { changes: { level: 1 }, former: { level: 2 } };
    const status = async (body: unknown, userId = 'u1') =>
      (await owner.call(consoleApi.changeUser, { params: { appId: APP, userId }, body })).status;

    expect(await status(change)).toBe(200);
    // A refused undo changes nothing, and one of another user concerns that user.
    expect([await status(undo), await undone(2)]).toEqual([400, [false, false]]);
    stored(2);
    expect([await status(undo, 'u2'), await undone(3)]).toEqual([200, [false, false, false]]);
    expect([await status(undo), (await undone(4)).at(0), (await undone(4)).at(3)]).toEqual([200, false, true]);
    stored(1);
    expect([await status(change), await undone(2)]).toEqual([200, [false, true]]);
    expect((await undone(5)).at(4)).toBe(true);
  });

  it.each([{ level: 2 }, { level: { __op: 'Delete' } }, { level: 1, score: null }])(
    'over %j of a user, where another value is stored, writes nothing',
    async (former) => {
      const { status, body } = await changeUser({ changes: { level: 3 }, former });
      expect([status, body['name'], body['error']]).toEqual([400, 'NO_EFFECT', CHANGED_SINCE]);
      expect(console.transport.requestsOf(accountsRpc.updateUser)).toEqual([]);
      expect(await newest(owner)).toMatchObject({ outcome: 'refused', undo: null });
    },
  );

  it('that holds a secret is in the answer, and not in the entry', async () => {
    const { body } = await changeUser({ updatedAt: at, changes: { token: 'new' } });
    expect(body['undo']).toMatchObject({ body: { changes: { token: 'former' } } });
    expect(await newest(owner)).toMatchObject({ outcome: 'done', undo: null, before: { token: '(changed)' } });
  });

  it('that holds a secret within a field is in no entry', async () => {
    await changeUser({ updatedAt: at, changes: { level: { token: 'new' }, 'code.a': 'new' } });
    const entry = await newest(owner);
    expect(entry).toMatchObject({ undo: null, change: { changes: { level: { token: '(changed)' } } } });
    expect(JSON.stringify(entry)).not.toContain('new');
  });

  it('needs either the time of a user or former values', async () => {
    for (const given of [{}, { updatedAt: at, former: { level: 1 } }, { former: {} }])
      expect(await changeUser({ changes: { level: 3 }, ...given })).toMatchObject({ status: 400 });
    expect(console.transport.requestsOf(accountsRpc.updateUser)).toEqual([]);
  });

  it('of a setting writes the former value, but not of one that stands for a class permission', async () => {
    const keys = { appKey: 'app key', masterKey: 'master key', oldKeys: [], secretsSet: [] };
    const given = { id: APP, name: 'My shop', ...keys, settings: {}, classPermissions: {}, createdAt: at };
    const { application } = applicationsRpc.get.reply.parse({ application: given });
    console.transport.answer(applicationsRpc.get, () => ({ application }));
    console.transport.answer(applicationsRpc.changeSetting, () => ({ settings: application.settings }));
    const undoOf = async (name: string) => {
      const change = { params: { appId: APP, name }, body: { value: 'true', former: 'false' } };
      return (await owner.call(consoleApi.changeSetting, change)).body['undo'];
    };
    expect(await undoOf('quietProfile')).toMatchObject({ body: { value: 'false' } });
    expect(await undoOf('userQueryEnabled')).toBeNull();
  });

  it.each([false, true])('of a reset template is noted unless another has been saved since: %s', async (isOwn) => {
    const parts = { subject: 's', html: '<p>h</p>', text: 't' };
    let isReset = false;
    const place = { appId: APP, kind: 'verifyEmail', language: 'en' } as const;
    console.transport.answer(templatesRpc.get, () => ({ template: { ...place, ...parts, isOwn: !isReset || isOwn } }));
    console.transport.answer(templatesRpc.reset, () => {
      isReset = true;
      return {};
    });
    await owner.call(consoleApi.resetTemplate, { params: place, body: { former: parts } });
    const noted = isOwn ? null : { action: 'setTemplate', body: { ...parts, former: parts } };
    expect(await newest(owner)).toMatchObject({ outcome: 'done', undo: noted });
  });

  describe('of a role', () => {
    const changeRole = (body: unknown) =>
      owner.call(consoleApi.changeRole, { params: { appId: APP, roleId: 'role1' }, body });

    beforeEach(() => {
      console.transport.answer(objectsRpc.find, ({ where }) => ({
        results: JSON.stringify(where).includes('$in') ? [{ objectId: 'member' }] : [],
      }));
    });

    it('concerns the members that have changed only', async () => {
      const { body } = await changeRole({ addUsers: ['member', 'new'], removeUsers: ['member', 'stranger'] });
      expect(body['undo']).toMatchObject({ body: { addUsers: ['member'], removeUsers: ['new'], former: {} } });
      expect((await changeRole({ addUsers: ['member'] })).body['undo']).toBeNull();
    });

    it('brings the former access list back', async () => {
      const [former, written] = [{ '*': { read: true } }, { role1: { write: true } }];
      console.transport.answer(objectsRpc.update, ({ changes }) => ({ result: changes }));
      const { body } = await changeRole({ updatedAt: at, ACL: written });
      const undo = { body: { ACL: former, former: { ACL: written } } };
      expect(body['undo']).toMatchObject(undo);
      console.transport.answer(objectsRpc.get, () => ({
        object: { objectId: 'role1', name: 'staff', ACL: written, createdAt: at, updatedAt: at },
      }));
      expect((await changeRole(undo.body)).status).toBe(200);
      expect(console.transport.requestsOf(objectsRpc.update).at(-1)).toMatchObject({ changes: { ACL: former } });
    });

    it('without a change writes nothing', async () => {
      expect((await changeRole({})).body['undo']).toBeNull();
      expect(console.transport.requestsOf(objectsRpc.update)).toEqual([]);
    });

    it('is one conditional write', async () => {
      expect((await changeRole({ addUsers: ['new'], removeUsers: ['member'], former: {} })).status).toBe(200);
      const ops = [{ __op: 'AddRelation' }, { __op: 'RemoveRelation' }];
      expect(console.transport.requestsOf(objectsRpc.update)).toMatchObject([
        { changes: { users: { __op: 'Batch', ops } }, where: { updatedAt: { iso: at } } },
      ]);
    });

    it('of the ACL needs the ACL that was read', async () => {
      expect(await changeRole({ ACL: {}, former: {} })).toMatchObject({ status: 400 });
      expect(console.transport.requestsOf(objectsRpc.update)).toEqual([]);
    });

    it.each([
      { removeUsers: ['member', 'gone'], former: {} },
      { addUsers: ['member'], former: {} },
      { ACL: {}, former: { ACL: { '*': { write: true } } } },
    ])('as %j, which does not fit, writes nothing', async (change) => {
      const { status, body } = await changeRole(change);
      expect([status, body['error']]).toEqual([400, CHANGED_SINCE]);
      expect(console.transport.requestsOf(objectsRpc.update)).toEqual([]);
    });
  });
});

describe('a page of users', () => {
  const keyOf = (key: string) => {
    console.transport.answer(userSearchRpc.search, ({ after }) => ({
      users: NAMES.map(userOf),
      next: { key, objectId: 'user2' },
      total: after === undefined ? total : null,
    }));
  };

  it('is followed by the next one, with the total of the first', async () => {
    const { next, body } = await as('viewer', consoleApi.listUsers);
    expect(body['total']).toEqual(total);
    const last = await as('viewer', consoleApi.listUsers, { after: next ?? '' });
    expect([last.next, last.body['total']]).toEqual([null, total]);
    expect(console.transport.requestsOf(userSearchRpc.search)).toMatchObject([
      { order: 'newest' },
      { order: 'newest', after: { key: at, objectId: 'user2' } },
    ]);
  });

  it.each(['名@"'.padEnd(255, '名'), '\u0001'.repeat(255)])('can end at the longest username', async (key) => {
    keyOf(key);
    const { next } = await as('support', consoleApi.listUsers, { order: 'username' });
    const { status } = await as('support', consoleApi.listUsers, { order: 'username', after: next ?? '' });
    expect(status).toBe(200);
    expect(console.transport.requestsOf(userSearchRpc.search)[1]).toMatchObject({ after: { key } });
  });

  it('has a cursor without a readable username', async () => {
    keyOf('ada.l@example.com');
    const { next } = await as('support', consoleApi.listUsers, { order: 'username' });
    const texts = (next ?? '').split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    expect([next, ...texts].join(' ')).not.toContain('ada.l');
  });

  it('comes after no cursor that was invented, changed, or made for another list', async () => {
    const { next } = await as('developer', consoleApi.listUsers);
    const { next: byName } = await as('developer', consoleApi.listUsers, { order: 'username' });
    const invented = Buffer.from(JSON.stringify(['ada.m', 'user2', 1, true])).toString('base64url');
    const changed = (next ?? '').replace(/.(?=.{9}$)/, (one) => (one === 'A' ? 'B' : 'A'));
    console.transport.calls.length = 0;
    for (const after of ['', 'x', invented, changed, byName ?? '']) {
      const { status, body } = await as('developer', consoleApi.listUsers, { after });
      expect([status, body['name']]).toEqual([400, 'INVALID_QUERY']);
    }
    const { body } = await owner.call(consoleApi.listUsers, {
      params: { appId: 'other' },
      query: { after: next ?? '' },
    });
    expect(body).toMatchObject({ name: 'INVALID_QUERY' });
    expect(console.transport.requestsOf(userSearchRpc.search)).toEqual([]);
  });

  it('comes in the order of usernames only with users.contact', async () => {
    const { status, body } = await as('viewer', consoleApi.listUsers, { order: 'username' });
    expect([status, body['error']]).toEqual([403, 'This needs the permission users.contact.']);
    expect(console.transport.requestsOf(userSearchRpc.search)).toEqual([]);
    expect((await as('support', consoleApi.listUsers, { order: 'username' })).status).toBe(200);
    expect((await as('viewer', consoleApi.listUsers, { order: 'oldest' })).status).toBe(200);
  });
});
