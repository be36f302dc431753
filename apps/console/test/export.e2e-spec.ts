import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { consoleApi, type ConsoleRoute } from '#console-api';
import {
  deliveriesRpc,
  type FoundUser,
  installationsRpc,
  type JsonObject,
  pushOperationsRpc,
  userSearchRpc,
} from '#contracts';
import { appError } from '#errors';
import { AuditRepository } from '../src/audit/audit.repository.js';
import { TestConsole, type Visitor } from './console-service.js';

const params = { appId: 'shop' };
const ROWS = 10_000;
const at = '2026-01-02T03:04:05.678Z';
/** Texts that break files, or that spreadsheets run. */
const NAMES = [
  '=HYPERLINK("https://evil.example")',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tTab',
  '\rReturn',
  'a,b',
  'say "hi"',
  'two\nlines',
  'two\r\nlines',
  'separator\u2028line',
  'a;=1+1',
  'a\t@SUM(A1);-2',
  'two\n=1+1',
  'two\r\n+1;=2',
  '小明 🙂',
  "O'Brien",
  '',
];
const FORMULA = /^[=+\-@\t\r]/;
/** Where a spreadsheet with another delimiter, or without quotes, begins a cell. */
const NESTED_FORMULA = /([;\t\r\n])(?=[=+\-@])/g;

const nameOf = (index: number) => NAMES[index % NAMES.length] ?? '';
const userAt = (index: number): FoundUser => ({
  objectId: `user${index}`,
  username: nameOf(index),
  email: index % 2 === 0 ? `user${index}@example.com` : null,
  emailVerified: index % 2 === 0 ? true : null,
  mobilePhoneNumber: '+8613800000000',
  mobilePhoneVerified: false,
  hasPassword: true,
  platforms: ['weixin'],
  createdAt: at,
  updatedAt: at,
  lockedUntil: null,
  fields: { level: index, note: nameOf(index) },
});

let console: TestConsole;
let owner: Visitor;

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
});
afterAll(() => console.stop());
beforeEach(() => {
  console.transport.calls.length = 0;
  console.transport.answer(userSearchRpc.search, ({ after, limit }) => {
    const from = after === undefined ? 0 : Number(after.objectId.slice('user'.length)) + 1;
    const end = Math.min(ROWS, from + limit);
    const users = Array.from({ length: end - from }, (_, index) => userAt(from + index));
    return { users, next: end < ROWS ? { key: at, objectId: `user${end - 1}` } : null, total: null };
  });
});

interface Entry {
  readonly action: string;
  readonly outcome: string;
  readonly target: string | null;
  readonly change: object;
  readonly error_name: string | null;
}

async function lastEntry(): Promise<Entry | undefined> {
  const [entry] = await console.database.query<Entry>(
    'SELECT action, outcome, target, change, error_name FROM console.audit ORDER BY begun_at DESC LIMIT 1',
  );
  return entry;
}

/** A reader of RFC 4180 that shares no code with the writer. */
function cellsOf(csv: string): string[][] {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/gy;
  const rows: string[][] = [];
  let row: string[] = [];
  for (let found = cell.exec(csv); found !== null && cell.lastIndex <= csv.length; found = cell.exec(csv)) {
    const [, quoted, plain = '', end] = found;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
    if (cell.lastIndex === csv.length) break;
  }
  return rows;
}

describe('an export of users', () => {
  it('is a CSV file of all users, in which no cell is a formula', async () => {
    const { status, headers, text } = await owner.call(consoleApi.exportUsers, { params, query: { format: 'csv' } });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/csv; charset=utf-8; header=present',
      'x-content-type-options': 'nosniff',
    });
    expect(headers['content-disposition']).toMatch(/^attachment; filename="users-shop-\d{4}-\d\d-\d\d\.csv"$/);
    expect(text.startsWith('\uFEFFobjectId,username,')).toBe(true);
    const [heading = [], ...rows] = cellsOf(text.slice(1));
    expect(heading).toEqual(consoleApi.exportUsers.file.columns);
    expect(rows).toHaveLength(ROWS);
    expect(new Set(rows.map(({ length }) => length))).toEqual(new Set([heading.length]));
    expect(rows.flat().filter((cell) => FORMULA.test(cell) || cell.search(NESTED_FORMULA) !== -1)).toEqual([]);
    expect(text.split(/[\r\n;\t,]/).filter((part) => /^"?[=+\-@]/.test(part))).toEqual([]);
    expect(text.replaceAll(/"(?:[^"]|"")*"/g, '')).not.toMatch(/[;\t]/);
    expect(rows.map(([id, name]) => [id, name])).toEqual(
      Array.from({ length: ROWS }, (_, index) => {
        const name = nameOf(index);
        return [`user${index}`, (FORMULA.test(name) ? `'${name}` : name).replaceAll(NESTED_FORMULA, "$1'")];
      }),
    );
    const first = Object.fromEntries(heading.map((column, index) => [column, rows[0]?.[index]]));
    expect(first).toMatchObject({
      emailVerified: 'true',
      mobilePhoneNumber: "'+8613800000000",
      mobilePhoneVerified: 'false',
      lockedUntil: '',
      platforms: '["weixin"]',
      fields: JSON.stringify({ level: 0, note: NAMES[0] }),
    });
  });

  it('is a file of JSON lines with the values as they are', async () => {
    const { headers, text } = await owner.call(consoleApi.exportUsers, { params, query: { format: 'jsonl' } });
    expect(headers['content-type']).toBe('application/jsonl; charset=utf-8');
    const lines = text.split('\n');
    expect(lines.pop()).toBe('');
    const users = lines.map((line) => JSON.parse(line) as { username: string; fields: JsonObject });
    expect(users).toHaveLength(ROWS);
    expect(users.map(({ username }) => username)).toEqual(Array.from({ length: ROWS }, (_, index) => nameOf(index)));
    expect(users[7]).not.toHaveProperty('hasPassword');
    expect(users[7]?.fields).toEqual({ level: 7, note: nameOf(7) });
  });

  it('has a heading and no row where nothing matches', async () => {
    console.transport.answer(userSearchRpc.search, () => ({ users: [], next: null, total: null }));
    const { text } = await owner.call(consoleApi.exportUsers, { params, query: { format: 'csv' } });
    expect(cellsOf(text.slice(1))).toEqual([consoleApi.exportUsers.file.columns]);
    await expect.poll(lastEntry).toMatchObject({ outcome: 'done', target: '0 rows' });
  });

  it('asks for the filters, or for a selection', async () => {
    const query = { format: 'csv', text: 'ada', in: 'email', emailVerified: 'true' };
    await owner.call(consoleApi.exportUsers, { params, query });
    await owner.call(consoleApi.exportUsers, { params, query: { format: 'csv', ids: 'a1,b2' } });
    const asked = console.transport.requestsOf(userSearchRpc.search).filter(({ after }) => after === undefined);
    expect(asked).toMatchObject([
      { appId: 'shop', text: 'ada', in: 'email', filters: { emailVerified: true }, limit: 1_000, withFields: true },
      { appId: 'shop', filters: { ids: ['a1', 'b2'] }, order: 'newest' },
    ]);
    const ids = Array.from({ length: 201 }, (_, index) => `id${index}`).join(',');
    expect((await owner.call(consoleApi.exportUsers, { params, query: { format: 'csv', ids } })).status).toBe(400);
  });

  it('has one entry in the audit log, which is open until the file ends', async () => {
    let during: Entry | undefined;
    console.transport.answer(userSearchRpc.search, async ({ after }) => {
      during = await lastEntry();
      return { users: [userAt(0)], next: after === undefined ? { key: at, objectId: 'user0' } : null, total: null };
    });
    await owner.call(consoleApi.exportUsers, { params, query: { format: 'jsonl', text: 'ada' } });
    expect(during).toMatchObject({ outcome: 'begun', target: null });
    await expect.poll(lastEntry).toMatchObject({
      action: 'exportUsers',
      outcome: 'done',
      target: '2 rows',
      change: { format: 'jsonl', text: 'ada' },
    });
  });

  it('answers with the error where the first page cannot be read', async () => {
    console.transport.fail(userSearchRpc.search, appError('QUERY_TIMED_OUT'));
    const { status, headers, body } = await owner.call(consoleApi.exportUsers, { params, query: { format: 'csv' } });
    expect([status < 500, body['name']]).toEqual([true, 'QUERY_TIMED_OUT']);
    expect(headers['content-disposition']).toBeUndefined();
    expect(await lastEntry()).toMatchObject({ outcome: 'refused', error_name: 'QUERY_TIMED_OUT' });
  });

  it('breaks the connection where a later page cannot be read', async () => {
    console.transport.answer(userSearchRpc.search, ({ after }) => {
      if (after !== undefined) throw appError('SERVICE_UNAVAILABLE');
      return { users: [userAt(0)], next: { key: at, objectId: 'user0' }, total: null };
    });
    await expect(owner.call(consoleApi.exportUsers, { params, query: { format: 'csv' } })).rejects.toThrow('aborted');
    await expect.poll(lastEntry).toMatchObject({
      outcome: 'failed',
      error_name: 'SERVICE_UNAVAILABLE',
      target: '1 rows',
    });
  });

  it.each([
    ['is disabled', 'UPDATE console.operators SET is_disabled = true WHERE id = $1', 'UNAUTHORIZED'],
    ['signs out', 'DELETE FROM console.sessions WHERE operator_id = $1', 'UNAUTHORIZED'],
    ['gets another role', `UPDATE console.grants SET role = 'support' WHERE operator_id = $1`, 'FORBIDDEN'],
    ['loses the application', 'DELETE FROM console.grants WHERE operator_id = $1', 'NOT_FOUND'],
  ])('reads no further page once the operator %s', async (_, change, errorName) => {
    const developer = await console.withRole(owner, 'developer', 'shop');
    const { body } = await developer.call(consoleApi.getSession);
    const { id } = (body as { operator: { id: string } }).operator;
    console.transport.answer(userSearchRpc.search, async () => {
      const { length } = console.transport.requestsOf(userSearchRpc.search);
      if (length === 2) await console.database.query(change, [id]);
      return { users: [userAt(0)], next: length < 4 ? { key: at, objectId: 'user0' } : null, total: null };
    });
    const exported = developer.call(consoleApi.exportUsers, { params, query: { format: 'csv' } });
    await expect(exported).rejects.toThrow('aborted');
    await expect.poll(lastEntry).toMatchObject({ outcome: 'failed', error_name: errorName, target: '2 rows' });
    expect(console.transport.requestsOf(userSearchRpc.search)).toHaveLength(2);
  });

  it('goes on after the proof has ended', async () => {
    console.transport.answer(userSearchRpc.search, async ({ after }) => {
      await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
      return { users: [userAt(0)], next: after === undefined ? { key: at, objectId: 'user0' } : null, total: null };
    });
    await owner.call(consoleApi.exportUsers, { params, query: { format: 'csv' } });
    await console.database.query('UPDATE console.sessions SET proven_at = now()');
    await expect.poll(lastEntry).toMatchObject({ outcome: 'done', target: '2 rows' });
  });

  it('stops reading where the client closes the connection', async () => {
    let pages = 0;
    console.transport.answer(userSearchRpc.search, () => {
      pages += 1;
      const users = Array.from({ length: 1_000 }, (_, index) => userAt(index));
      return { users, next: { key: at, objectId: 'user0' }, total: null };
    });
    await owner.abandon(consoleApi.exportUsers, { params, query: { format: 'jsonl' } });
    await expect.poll(lastEntry).toMatchObject({ action: 'exportUsers', outcome: 'unknown' });
    const read = pages;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(pages).toBe(read);
  });

  it('does not read faster than the client, which is disconnected if it reads nothing', async () => {
    let pages = 0;
    console.transport.answer(userSearchRpc.search, () => {
      pages += 1;
      const users = Array.from({ length: 1_000 }, (_, index) => ({
        ...userAt(index),
        fields: { text: 'x'.repeat(10_000) },
      }));
      return { users, next: { key: at, objectId: 'user0' }, total: null };
    });
    const received = once(console.service.app.getHttpServer(), 'request') as Promise<[IncomingMessage]>;
    const close = await owner.stall(consoleApi.exportUsers, { params, query: { format: 'jsonl' } });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    // Two pages of 10 MB in the stream, and what the sockets of the system take.
    expect(pages).toBeLessThan(6);
    const [{ socket }] = await received;
    expect(socket.timeout).toBe(30_000);
    socket.emit('timeout');
    expect(socket.destroyed).toBe(true);
    close();
    await expect.poll(lastEntry).toMatchObject({ outcome: 'unknown' });
  });

  it('is not open to a support person or a viewer, and is masked for neither of the others', async () => {
    for (const role of ['support', 'viewer'] as const) {
      const visitor = await console.withRole(owner, role, 'shop');
      const { status, body } = await visitor.call(consoleApi.exportUsers, { params, query: { format: 'csv' } });
      expect([status, body['error']]).toEqual([403, 'This needs the permission users.export.']);
    }
    const developer = await console.withRole(owner, 'developer', 'shop');
    const { text } = await developer.call(consoleApi.exportUsers, { params, query: { format: 'csv' } });
    expect(text).toContain('user0@example.com');
  });
});

describe('an export of devices', () => {
  it('reads pages behind the last device, with connections and without ids that address a device', async () => {
    const devices = Array.from({ length: 450 }, (_, index) => ({
      objectId: `device${String(999 - index)}`,
      createdAt: at,
      updatedAt: at,
      deviceType: 'ios',
      installationId: `secret${index}`,
      deviceToken: 'secret-token',
      name: `=${index}`,
    }));
    console.transport.answer(installationsRpc.find, ({ where, limit }) => {
      const [, same] = (where as { $or?: [object, { objectId: { $lt: string } }] }).$or ?? [];
      const left = devices.filter(({ objectId }) => same === undefined || objectId < same.objectId.$lt);
      if (limit > 100) throw appError('OBJECT_TOO_LARGE');
      return { results: left.slice(0, limit) };
    });
    console.transport.answer(pushOperationsRpc.describeDevices, ({ installationIds }) => ({
      devices: installationIds.map((installationId) => ({ installationId, connection: null, waiting: 2, dropped: 0 })),
    }));
    const query = { format: 'csv', deviceType: 'ios' };
    const { text } = await owner.call(consoleApi.exportDevices, { params, query });
    const [heading = [], ...rows] = cellsOf(text.slice(1));
    expect(heading).toEqual(consoleApi.exportDevices.file.columns);
    expect(rows.map(([id]) => id)).toEqual(devices.map(({ objectId }) => objectId));
    expect(rows[3]?.slice(-2)).toEqual(['2', '{"name":"=3"}']);
    expect(text).not.toContain('secret');
    await expect.poll(lastEntry).toMatchObject({ action: 'exportDevices', outcome: 'done', target: '450 rows' });
  });
});

describe('an export of messages', () => {
  it('has all messages that match', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    const delivery = {
      id,
      appId: 'shop',
      channel: 'mail',
      kind: 'verifyEmail',
      recipient: 'ada@example.com',
      userId: null,
      status: 'dead',
      attempts: 1,
      attemptLog: [] as never[],
      lastError: '=550 no',
      createdAt: at,
      expiresAt: at,
      nextAttemptAt: null,
      settledAt: at,
    } as const;
    console.transport.answer(deliveriesRpc.list, ({ after }) => ({
      deliveries: [delivery],
      next: after === undefined ? { createdAt: at, id } : null,
    }));
    const query = { format: 'csv', status: 'dead' };
    const { text } = await owner.call(consoleApi.exportMessages, { params, query });
    const [, ...rows] = cellsOf(text.slice(1));
    expect(rows).toHaveLength(2);
    expect(rows[0]).toContain("'=550 no");
    expect(console.transport.requestsOf(deliveriesRpc.list)).toMatchObject([
      { status: 'dead', limit: 500 },
      { after: { createdAt: at, id } },
    ]);
  });
});

describe('an export of the audit log', () => {
  it('shows an operator what the list shows', async () => {
    const viewer = await console.withRole(owner, 'viewer', 'shop');
    const ids = async (visitor: Visitor) => {
      const { text } = await visitor.call(consoleApi.exportAudit, { query: { format: 'jsonl' } });
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { id: string }).id);
    };
    const [{ count } = { count: 0 }] = await console.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM console.audit',
    );
    const all = await ids(owner);
    expect(all).toHaveLength(count + 1);
    expect(new Set(all).size).toBe(all.length);
    // The viewer has used an invitation, and exports now.
    expect(await ids(viewer)).toHaveLength(2);
  });

  it('shows the entries that the operator may see at the time of each page', async () => {
    const developer = await console.withRole(owner, 'developer', 'shop');
    const page = vi.spyOn(console.service.app.get(AuditRepository), 'page').mockImplementation(async ({ after }) => {
      await console.database.query(`UPDATE console.grants SET app_id = 'other'`);
      return { items: [], next: after === undefined ? 'next' : null };
    });
    await developer.call(consoleApi.exportAudit, { query: { format: 'jsonl' } });
    const visible = page.mock.calls.map(([filter]) => filter.visible);
    page.mockRestore();
    expect(visible).toMatchObject([{ appIds: ['shop'] }, { appIds: ['other'] }]);
  });

  it('and acts of the command line are open as long as they may take', async () => {
    const insert = (action: string, age: string) =>
      console.database.query(
        `INSERT INTO console.audit (id, begun_at, operator_name, way, action, change, request_id)
         VALUES (gen_random_uuid(), now() - $2::interval, 'Ada', 'console', $1, '{}', 'slow')`,
        [action, age],
      );
    await insert('exportUsers', '50 minutes');
    await insert('exportDevices', '70 minutes');
    await insert('deleteUsers', '50 minutes');
    await insert('importObjects', '23 hours');
    await insert('rotateSecret', '25 hours');
    const outcomes = async (action: string) => {
      const { body } = await owner.call(consoleApi.listAudit, {
        query: { action, to: new Date(Date.now() - 1_200_000).toISOString() },
      });
      return (body as { items: { outcome: string }[] }).items.map(({ outcome }) => outcome);
    };
    expect(await outcomes('exportUsers')).toEqual(['begun']);
    expect(await outcomes('exportDevices')).toEqual(['unknown']);
    expect(await outcomes('deleteUsers')).toEqual(['unknown']);
    expect(await outcomes('importObjects')).toEqual(['begun']);
    expect(await outcomes('rotateSecret')).toEqual(['unknown']);
    await console.cleanup.processBatch();
    const rows = await console.database.query<{ action: string; outcome: string }>(
      `SELECT action, outcome FROM console.audit WHERE request_id = 'slow' ORDER BY action`,
    );
    expect(rows).toEqual([
      { action: 'deleteUsers', outcome: 'unknown' },
      { action: 'exportDevices', outcome: 'unknown' },
      { action: 'exportUsers', outcome: 'begun' },
      { action: 'importObjects', outcome: 'begun' },
      { action: 'rotateSecret', outcome: 'unknown' },
    ]);
  });
});

it.each(Object.entries<ConsoleRoute>(consoleApi).filter(([, { file }]) => file !== null))(
  '%s begins no export for HEAD',
  async (_, route) => {
    const before = await lastEntry();
    await owner.call({ ...route, method: 'HEAD' as never }, { params, query: { format: 'csv' } });
    expect(console.transport.requestsOf(userSearchRpc.search)).toEqual([]);
    expect(await lastEntry()).toEqual(before);
  },
);
