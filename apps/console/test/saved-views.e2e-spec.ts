import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi, MAX_SAVED_VIEWS, type SavedView } from '#console-api';
import { TestConsole, type Visitor } from './console-service.js';

const APP = 'shop';

let console: TestConsole;
let owner: Visitor;
let support: Visitor;
let viewer: Visitor;
let developer: Visitor;

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
  support = await console.withRole(owner, 'support', APP);
  viewer = await console.withRole(owner, 'viewer', APP);
  developer = await console.withRole(owner, 'developer', APP);
});
afterAll(() => console.stop());
beforeEach(async () => {
  await console.database.query('DELETE FROM console.saved_views');
});

const unverified: SavedView = {
  page: 'users',
  name: 'Not verified',
  search: { emailVerified: false, mode: 'contains' },
  isShared: false,
};
const save = (visitor: Visitor, view: object = unverified, appId = APP) =>
  visitor.call(consoleApi.saveView, { params: { appId }, body: view });
const views = async (visitor: Visitor, appId = APP) => {
  const { body } = await visitor.call(consoleApi.listViews, { params: { appId } });
  return body['items'] as (SavedView & { readonly id: string; readonly isOwn: boolean })[];
};
const namesOf = async (visitor: Visitor) => (await views(visitor)).map(({ name }) => name);
const remove = async (visitor: Visitor, viewId: string, appId = APP) =>
  (await visitor.call(consoleApi.deleteView, { params: { appId, viewId } })).status;

describe('a saved view', () => {
  it("is the operator's own", async () => {
    expect((await save(support)).status).toBe(200);
    expect(await views(support)).toEqual([{ ...unverified, id: expect.any(String) as string, isOwn: true }]);
    expect(await views(owner)).toEqual([]);
  });

  it('replaces one of the same page and name', async () => {
    await save(support);
    await save(support, { ...unverified, name: ' Not verified ', search: { hasPassword: true }, isShared: true });
    await save(support, { ...unverified, page: 'devices', search: { type: 'ios' } });
    const found = (await views(support)).map(({ page, search, isShared }) => [page, search, isShared]);
    expect(found).toHaveLength(2);
    expect(found).toContainEqual(['users', { hasPassword: true }, true]);
    expect(found).toContainEqual(['devices', { type: 'ios' }, false]);
  });

  it('is shown to the others of the application once it is shared', async () => {
    await save(support, { ...unverified, isShared: true });
    expect((await views(viewer)).map(({ name, isOwn }) => [name, isOwn])).toEqual([['Not verified', false]]);
    expect((await viewer.call(consoleApi.listViews, { params: { appId: 'other' } })).status).toBe(404);
  });

  it('is not shared by those who may only read', async () => {
    expect((await save(viewer, { ...unverified, isShared: true })).status).toBe(403);
    expect((await save(viewer)).status).toBe(200);
    expect(await namesOf(support)).toEqual([]);
  });

  it('is deleted by its operator, or where it is shared by a developer', async () => {
    await save(support);
    const [own] = await views(support);
    expect(await remove(developer, own?.id ?? '')).toBe(404);
    await save(support, { ...unverified, isShared: true });
    expect(await remove(viewer, own?.id ?? '')).toBe(404);
    expect(await remove(owner, own?.id ?? '', 'other')).toBe(404);
    expect(await remove(developer, own?.id ?? '')).toBe(200);
    expect(await views(support)).toEqual([]);
  });

  it.each([
    ['an unknown page', { page: 'keys' }],
    ['no name', { name: '' }],
    ['a name with a line break', { name: 'a\nb' }],
    ['a name of spaces', { name: '  ' }],
    ['too many filters', { search: { platform: 'x'.repeat(5_000) } }],
    ['a filter that is an object', { search: { where: {} } }],
    ['an address', { search: { q: 'ada@example.com' } }],
    ['a number', { search: { kind: '+4915112345678' } }],
    ['the beginning of a number', { search: { q: '+491', in: 'phone' } }],
    ['a condition on addresses', { search: { where: '{"email":{"$regex":"^ada"}}' } }],
    ['an address in place of a user', { search: { user: 'ada@example.com' } }],
  ])('with %s is refused', async (_, wrong) => {
    expect((await save(support, { ...unverified, ...wrong })).status).toBe(400);
    expect(await views(support)).toEqual([]);
  });

  it('may hold the id of a user, which has digits', async () => {
    expect((await save(support, { ...unverified, search: { user: '5f0123456789abcdef012345' } })).status).toBe(200);
  });

  it(`is one of ${MAX_SAVED_VIEWS} of all applications at most, of many at once too`, async () => {
    await console.database.query(
      `INSERT INTO console.saved_views (operator_id, app_id, page, name, search, is_shared)
       SELECT o.id, 'other', 'users', n::text, '{}', false FROM console.operators o, generate_series(4, ${MAX_SAVED_VIEWS}) n`,
    );
    const many = Array.from({ length: 8 }, (_, index) => ({ ...unverified, name: `view ${index}` }));
    const answers = await Promise.all(many.map((view) => save(support, view)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(await views(support)).toHaveLength(3);
    const refused = answers.find(({ status }) => status !== 200);
    expect(refused?.body).toMatchObject({ code: 305 });
    const [kept] = await views(support);
    expect((await save(support, { ...unverified, name: kept?.name ?? '' })).status).toBe(200);
  });

  it('is recorded in the audit log', async () => {
    await save(support);
    const { body } = await owner.call(consoleApi.listAudit, { query: { action: 'saveView', limit: '1' } });
    expect((body['items'] as object[])[0]).toMatchObject({ appId: APP, outcome: 'done', change: unverified });
  });
});
