import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type ConsoleRoute,
  consoleApi,
  isExport,
  pathOf,
  PERMISSIONS,
  permissionsFor,
  type Role,
  ROLE_PERMISSIONS,
  ROLES,
} from './index.js';

const routes: readonly (readonly [string, ConsoleRoute])[] = Object.entries(consoleApi);

/** Names of members that would hold a secret. */
const SECRET = /^(?:masterKey|sessionToken|password|passwordHash|authData|deviceToken|installationId|privateKey)$/i;

describe('the routes of the console', () => {
  it.each(routes)(
    '%s has a path of its own, and a schema for each of its parameters',
    (name, { method, path, params }) => {
      const same = routes.filter(([, other]) => other.method === method && shapeOf(other.path) === shapeOf(path));
      expect(same.map(([other]) => other)).toEqual([name]);
      const named = [...path.matchAll(/:(\w+)/g)].map(([, param]) => param);
      expect(named).toEqual(Object.keys((params as z.ZodObject).shape));
    },
  );

  it.each(routes)('%s needs a known permission', (_, { access }) => {
    expect(['anyone', 'operator', 'self', ...PERMISSIONS]).toContain(access);
  });

  it.each(routes.filter(([, { path }]) => path.includes('/:appId')))(
    '%s needs a permission for its application',
    (_, { access }) => {
      expect(PERMISSIONS).toContain(access);
    },
  );

  it.each(routes.filter(([, { method }]) => method === 'GET'))('%s, a GET, reads', (_, route) => {
    const { isRead, needsProof } = route;
    expect({ isRead, needsProof }).toEqual({ isRead: !isExport(route), needsProof: isExport(route) });
  });

  it.each(routes.filter(([, { isShared }]) => isShared))('%s, which is shared, reads', (_, { method, access }) => {
    expect(method).toBe('GET');
    expect(PERMISSIONS).toContain(access);
  });

  it.each(routes.filter(([, route]) => isExport(route)))('%s, an export, is one of the list', (_, { path, access }) => {
    const [, list] = routes.find(([, other]) => other.method === 'GET' && `${other.path}/export` === path) ?? [];
    const noun = path.split('/').at(-2) ?? '';
    expect(access).toBe(list?.access.replace(`${noun}.read`, `${noun}.export`));
  });

  it.each(routes)('%s names no secret in its answer', (_, { reply }) => {
    const names = JSON.stringify(z.toJSONSchema(reply, { unrepresentable: 'any', io: 'output' }));
    const members = [...names.matchAll(/"(\w+)":\{/g)].map(([, member]) => member ?? '');
    expect(members.filter((member) => SECRET.test(member))).toEqual([]);
  });

  it('refuses members of a body that no schema names', () => {
    const body = { address: 'ada@example.com', password: 'correct horse battery' };
    expect(consoleApi.signIn.body.safeParse(body).success).toBe(true);
    expect(consoleApi.signIn.body.safeParse({ ...body, isOwner: true }).success).toBe(false);
  });

  it('reads flags, numbers and defaults from query strings', () => {
    expect(consoleApi.listUsers.query.parse({ emailVerified: 'false', limit: '10' })).toEqual({
      emailVerified: false,
      in: 'any',
      limit: 10,
      mode: 'prefix',
      order: 'newest',
    });
  });

  it('escapes parameters of paths', () => {
    expect(pathOf('/apps/:appId/settings/:name', { appId: 'a', name: '../x' })).toBe('/apps/a/settings/..%2Fx');
  });
});

describe('the permissions of an operator', () => {
  const grants = [{ appId: 'shop', role: 'support' }] as const;

  it('are all for an owner', () => {
    expect(permissionsFor({ isOwner: true, grants: [] }, 'any')).toEqual(PERMISSIONS);
  });

  it('are those of the grant, for its application only', () => {
    expect(permissionsFor({ isOwner: false, grants }, 'shop')).toEqual(ROLE_PERMISSIONS.support);
    expect(permissionsFor({ isOwner: false, grants }, 'other')).toEqual([]);
  });

  it('are those of a grant for all applications as well', () => {
    const all = [...grants, { appId: '*', role: 'viewer' }] as const;
    expect(permissionsFor({ isOwner: false, grants: all }, 'other')).toEqual(ROLE_PERMISSIONS.viewer);
    expect(new Set(permissionsFor({ isOwner: false, grants: all }, 'shop'))).toEqual(new Set(ROLE_PERMISSIONS.support));
  });

  it.each(ROLES)('of a %s do not include those of the whole deployment', (role) => {
    const deployment = ['apps.create', 'operators.write', 'deadLetters.write'];
    expect(ROLE_PERMISSIONS[role].filter((permission) => deployment.includes(permission))).toEqual([]);
  });

  it('of support include pushes to own test devices only, those of a viewer none', () => {
    const pushes = (role: Role) => ROLE_PERMISSIONS[role].filter((each) => /^pushes\.(?:send|test)$/.test(each));
    expect([pushes('support'), pushes('viewer')]).toEqual([['pushes.test'], []]);
  });

  it('grow from viewer to support to developer', () => {
    expect(ROLE_PERMISSIONS.support).toEqual(expect.arrayContaining([...ROLE_PERMISSIONS.viewer]));
    expect(ROLE_PERMISSIONS.developer).toEqual(expect.arrayContaining([...ROLE_PERMISSIONS.support]));
  });
});

it('take times of the years that PostgreSQL and the API have', () => {
  const isTime = (text: string) => consoleApi.listAudit.query.safeParse({ from: text }).success;
  expect(['0000-12-31T23:59:59.999Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'].map(isTime)).toEqual([
    false,
    true,
    true,
  ]);
});

/** A path with parameters of the same name: two routes must not match one request. */
function shapeOf(path: string): string {
  return path.replace(/:\w+/g, ':');
}
