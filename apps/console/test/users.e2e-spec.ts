import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi, type ConsoleRoute, type Role, ROLES } from '#console-api';
import { type FoundUser, lockoutsRpc, userSearchRpc } from '#contracts';
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
