import { describe, expect, it } from 'vitest';
import { StartError } from '#bootstrap';
import { type ClassPermission, classPermissions, type JsonObject } from '#contracts';
import type { RpcClient } from '#messaging';
import { exported, withFolder } from '../../test/exports.js';
import { openSource } from '../export/open-export.js';
import { assertRoleMembers, importPermissions, memberRows } from './import-permissions.js';
import { ImportSummary } from './import-summary.js';

const OPEN = { '*': true };
const MANY = Array.from({ length: 150 }, (_, n) => `user${n}`);

/** Imports the files into an application that has these permissions for users. */
async function imported(files: Readonly<Record<string, JsonObject>>, here: Record<string, ClassPermission> = {}) {
  const written: Record<string, ClassPermission> = {};
  const call = (_: unknown, change: { operations?: string[]; permission?: ClassPermission }) => {
    for (const operation of change.operations ?? []) written[operation] = change.permission ?? [];
    return Promise.resolve({ application: { classPermissions: classPermissions.parse({ _User: here }) } });
  };
  const summary = new ImportSummary(undefined);
  const texts = Object.fromEntries(Object.entries(files).map(([name, content]) => [name, JSON.stringify(content)]));
  await withFolder(texts, async (folder) => {
    const source = await openSource([folder]);
    await importPermissions({ call } as unknown as RpcClient, source, { app: 'shop', isPreview: false }, summary);
    await source.close();
  });
  return { written, warnings: summary.warnings };
}
const permissionsOf = (permissions: JsonObject, here?: Record<string, ClassPermission>) =>
  imported({ '_User_permissions.json': { permissions } }, here);

describe('the permissions of an export', () => {
  it('never open what LeanCloud closes, but leave out what cannot be taken over, and name it', async () => {
    const { written, warnings } = await permissionsOf({
      get: { '*': false, users: MANY, roles: [] },
      create: 'everyone',
      update: { '*': false, users: 'user1', roles: ['管理员 组', 'staff'] },
      delete: { '*': false, roles: ['管理员 组'] },
    });
    expect(written).toEqual({
      ...{ get: MANY.slice(0, 100), create: [], update: ['user1', 'role:staff'], delete: [] },
    });
    expect(warnings).toEqual([
      expect.stringMatching(
        /^The permission _User\.get leaves out 50 users and roles: "user100", .*, …\. A permission/,
      ),
      expect.stringContaining('_User.create leaves out 1 users and roles: "everyone".'),
      expect.stringContaining('_User.update leaves out 1 users and roles: "role:管理员 组".'),
      expect.stringContaining('_User.delete leaves out 1 users and roles: "role:管理员 组".'),
    ]);
  });

  it('are not written over one that differs from the default, of which no change here is alleged', async () => {
    const { written, warnings } = await permissionsOf({ delete: { roles: ['admin'] }, get: OPEN }, { delete: [] });
    expect([written, warnings]).toEqual([
      {},
      [
        'The permission _User.delete stays "nobody", which is not the default here; LeanCloud has "role:admin". To take it over: gatepost permissions set shop _User delete role:admin',
      ],
    ]);
  });
});

describe('settings of an export without a counterpart here', () => {
  it('are named, each once', async () => {
    const schema = {
      ...{ idCard: { type: 'String', hidden: true }, balance: { type: 'Number', read_only: true } },
      ...{ note: { user_private: true }, 'bad\nname': { hidden: true }, nickName: { type: 'String', hidden: false } },
      ACL: { type: 'ACL', default: { _owner: { read: true, write: true } } },
    };
    const indexes = [{ unique: true, key: { invite: 1 } }, { key: { nickName: 1 } }];
    const permissions = { add_fields: { '*': false } };
    const all = { schema, indexes, permissions } as unknown as JsonObject;
    const { warnings } = await imported({ '_User_all.json': all, '_User_schema.json': { schema } });
    expect(warnings.map((warning) => warning.replace(/ (?:in LeanCloud|there|from|for)\b.*/, ''))).toEqual([
      '_User.idCard is hidden',
      '_User.balance is read-only',
      '_User.note is hidden',
      '_User.bad?name is hidden',
      'New objects of _User get a default ACL',
      '_User.invite is unique',
      'Not every client may add columns to _User',
    ]);
    expect(warnings[0]).toContain('here every client that may get the object reads it. Close _User.get and find');
  });

  it('are not alleged of the defaults of LeanCloud', async () => {
    const schema = {
      ...{ password: { hidden: true }, authData: { user_private: true }, createdAt: { read_only: true } },
      ACL: { type: 'ACL', default: { '*': { read: true, write: true } } },
    };
    const keys = ['username', 'email', 'mobilePhoneNumber', 'sessionToken', 'authData.weixin.openid', '_id'];
    const indexes = keys.map((key) => ({ unique: true, key: { [key]: 1 } }));
    const permissions = { get: OPEN, create: OPEN, update: OPEN, delete: OPEN, add_fields: OPEN };
    const all = { schema, indexes, permissions } as unknown as JsonObject;
    expect(await imported({ '_User_all.json': all })).toEqual({ written: {}, warnings: [] });
  });
});

describe('members of roles', () => {
  it('with an id that no database can hold are refused, and no others', async () => {
    const ids = ['user1', 'a\0b', 'a\ud83d', 'x'.repeat(256), 'user2'];
    const summary = new ImportSummary(undefined);
    const rows = memberRows(exported(ids.map((relatedId) => ({ owningId: 'role1', relatedId }))), summary);
    const members: string[] = [];
    for await (const { member } of rows) members.push(member);
    expect(members).toEqual(['user1', 'user2']);
    expect([...summary.classes.values()]).toMatchObject([{ read: 3, refused: 3 }]);
  });

  it.each([
    ['of UTF-16, as spreadsheets save it,', Buffer.from('\ufeffstaff,ada\r\n', 'utf16le')],
    ['with a name that is too long', Buffer.from(`staff,${'x'.repeat(256)}\n`)],
    ['with a name of spaces', Buffer.from('staff, \u3000 ada\n ,ada\n')],
  ])('in a list %s end the import before it begins', async (_, content) => {
    await withFolder({ 'members.csv': content }, async (folder) => {
      await expect(assertRoleMembers(`${folder}/members.csv`)).rejects.toThrow(StartError);
    });
  });
});
