import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ImportObjectsRequest } from '#contracts';
import { withFolder } from '../../test/exports.js';
import type { AuditedRpcClient } from '../audited-calls.js';
import * as terminal from '../terminal.js';
import { importCommand } from './import.command.js';

const TIMES = { createdAt: '2020-01-01T00:00:00.000Z', updatedAt: '2020-01-01T00:00:00.000Z' };
const ROLE = JSON.stringify({ objectId: 'r1', name: 'staff', ACL: {}, ...TIMES });

let printed: string[];
beforeEach(() => {
  printed = [];
  vi.spyOn(terminal, 'print').mockImplementation((line) => void printed.push(line));
  vi.spyOn(terminal, 'reportFailure').mockReturnValue();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The warnings of a preview of these files. */
async function warningsOf(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  printed = [];
  const call = (_: unknown, { objects = [] }: Partial<ImportObjectsRequest>) =>
    Promise.resolve({ verdicts: objects.map(() => ({ outcome: 'imported', notes: [] })), released: [], isDone: true });
  const rpc = { call } as unknown as AuditedRpcClient;
  await withFolder(files, (folder) =>
    importCommand((work) => work(rpc, {} as never)).parseAsync([folder, '--app', 'shop', '--json'], { from: 'user' }),
  );
  return (JSON.parse(printed.join('')) as { warnings: string[] }).warnings;
}

it('counts each role without members once, however many copies and unreadable rows the export has', async () => {
  const copies = { '_Role.0.jsonl': `${ROLE}\n${ROLE}\n{}\n`, '_Role.1.jsonl': `${ROLE}\n` };
  expect(await warningsOf(copies)).toEqual([expect.stringMatching(/^1 roles have no members: the export has no file/)]);
});

it('misses no members where the export has a file of members without a row', async () => {
  const header = '#filetype:JSON-streaming {"type":"Class","class":"_Join:_User:users:_Role"}\n';
  const files = { '_Role.0.jsonl': `${ROLE}\n`, '_Join_User_users_Role.0.jsonl': header };
  expect(await warningsOf(files)).toEqual([expect.stringMatching(/^Members of roles \(users\) come from/)]);
  const ofRoles = {
    '_Role.0.jsonl': `${ROLE}\n`,
    '_Join_Role_roles_Role.0.jsonl': header.replace('_User:users', '_Role:roles'),
  };
  expect(await warningsOf(ofRoles)).toContainEqual(expect.stringMatching(/^1 roles have no members/));
});

it.each([
  ['{"permissions":{"get":', /^_User_permissions\.json: /],
  ['{"permissions":["get"]}', /^_User_permissions\.json: "permissions" is not an object/],
])('has status 2 where permissions, which could close a class, cannot be read: %s', async (permissions, warning) => {
  const user = JSON.stringify({ objectId: 'u1', username: 'ada', ...TIMES });
  const files = { '_User.0.jsonl': user, '_User_permissions.json': permissions };
  expect(await warningsOf(files)).toContainEqual(expect.stringMatching(warning));
  expect(terminal.reportFailure).toHaveBeenCalledWith(2);
});

describe('the comparison of objects that are refused because another one has a value', () => {
  async function verified(file: string, row: object, field: string) {
    const call = (_: unknown, { objects = [] }: Partial<ImportObjectsRequest>) => {
      const notes = [{ field, reason: 'is taken', by: 'x3' }];
      return Promise.resolve({ verdicts: objects.map(() => ({ outcome: 'refused', notes })), released: [] });
    };
    const command = importCommand((work) => work({ call } as unknown as AuditedRpcClient, {} as never));
    const rows = ['x1', 'x2'].map((objectId) => JSON.stringify({ objectId, ...TIMES, ...row }));
    await withFolder({ [file]: rows.join('\n') }, (folder) =>
      command.parseAsync(['verify', folder, '--app', 'shop'], { from: 'user' }),
    );
    return printed.filter((line) => line.includes('another object here has the name'));
  }

  it('says how users that have exchanged their names get in: another import alone never helps', async () => {
    expect(await verified('_User.0.jsonl', { username: 'ada' }, 'username')).toEqual([
      expect.stringMatching(/^ {2}of these, refused .* the name: x1, x2\. First change one of the two names: /),
    ]);
  });

  it('does not advise a new name for a device', async () => {
    expect(await verified('_Installation.0.jsonl', { installationId: 'phone' }, 'installationId')).toEqual([]);
    expect(printed).toContainEqual(expect.stringContaining('missing, or older than in the export: x1, x2.'));
  });
});
