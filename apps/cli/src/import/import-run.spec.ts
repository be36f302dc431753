import { describe, expect, it } from 'vitest';
import type { ImportObjectsRequest, JsonObject } from '#contracts';
import { appError } from '#errors';
import type { RpcClient } from '#messaging';
import { exported } from '../../test/exports.js';
import { ImportRun, type MemberRow } from './import-run.js';
import { ImportSummary } from './import-summary.js';

const MAX_LENGTH = 1_000;
const TIME = '2020-01-01T00:00:00.000Z';

const row = (objectId: string, more: JsonObject = {}): JsonObject => ({
  ...{ objectId, username: objectId, createdAt: TIME, updatedAt: TIME, ...more },
});

// oxlint-disable-next-line typescript/require-await -- the reader of an export is asynchronous
async function* members(...pairs: [role: string, member: string][]): AsyncIterable<MemberRow> {
  const place = { file: 'f', line: 1, className: 'members' };
  for (const [role, member] of pairs) yield { place, role, member };
}

/** Imports into a service that stores everything, over a transport with a small limit. */
async function countsOf(rows: readonly JsonObject[], isPreview: boolean) {
  const call = (_: unknown, request: ImportObjectsRequest) => {
    if (JSON.stringify(request.objects).length > MAX_LENGTH) return Promise.reject(appError('OBJECT_TOO_LARGE'));
    const verdicts = request.objects.map(() => ({ outcome: 'imported', notes: [] }));
    return Promise.resolve({ verdicts, released: [], isDone: true });
  };
  const summary = new ImportSummary(undefined);
  const options = { appId: 'shop', isPreview, wrapPasswords: false };
  await new ImportRun({ call } as unknown as RpcClient, options, summary).importObjects('_User', exported(rows));
  return summary.countsOf('_User');
}

describe('a row that no message can hold', () => {
  it.each([true, false])('is refused, and no other (preview: %s)', async (isPreview) => {
    const rows = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => row(id));
    rows.splice(3, 0, row('large', { text: 'x'.repeat(MAX_LENGTH) }));
    expect(await countsOf(rows, isPreview)).toMatchObject({ read: 7, imported: 6, refused: 1 });
  });
});

describe('the preview of members', () => {
  it('counts one once, however the rows name it', async () => {
    const call = (_: unknown, request: Partial<ImportObjectsRequest> & { members?: unknown[] }) =>
      Promise.resolve({
        verdicts: request.objects?.map(() => ({ outcome: 'imported', notes: [] })),
        released: [],
        known: [],
        unknown: request.members?.map((_each, index) => ({ index, hasRole: false, hasMember: false })),
      });
    const summary = new ImportSummary(undefined);
    const options = { appId: 'shop', isPreview: true, wrapPasswords: false };
    const run = new ImportRun({ call } as unknown as RpcClient, options, summary);
    await run.importObjects('_User', exported([row('user1', { username: 'ada' })]));
    await run.importObjects('_Role', exported([row('role1', { name: 'staff', ACL: {} })]));
    await run.importMembers('users', members(['role1', 'user1'], ['staff', 'missing']));
    await run.importMembers('users', members(['staff', 'ada'], ['role1', 'ada']));
    expect(summary.countsOf('members')).toMatchObject({ read: 4, imported: 1, unchanged: 2, refused: 1 });
  });
});
