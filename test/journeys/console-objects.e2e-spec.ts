import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, masterClient, signUp, unique, useServer } from '#testing';
import { type ServerWithConsole, startOneProcess, useOperator, useOperatorPages } from './suites/operator.js';
import { answer, isAsked } from './suites/page-requests.js';

const server = useServer(() => startOneProcess({})) as () => ServerWithConsole;
const operator = useOperator(server);
const { open, openWithClock } = useOperatorPages(operator);

const button = (page: Page, name: RegExp | string) => page.getByRole('button', { name, exact: true });
const UNKNOWN = 'fedcba9876543210fedcba98';

async function newDevice(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const device = { deviceType: 'android', installationId: unique('device'), ...fields };
  return String((await appClient(server()).post('/1.1/installations', device)).body['objectId']);
}

describe('the page of an object that does not exist', () => {
  it.each([
    ['devices', UNKNOWN, 'All devices'],
    ['devices', 'no%20id', 'All devices'],
    ['roles', UNKNOWN, 'All roles'],
    ['users', UNKNOWN, 'All users'],
    ['pushes', UNKNOWN, 'All pushes'],
    ['messages', '11111111-1111-4111-8111-111111111111', 'All messages'],
  ])('of %s with the id %s says so, offers no act, and leads back', async (kind, id, back) => {
    const page = await open(`${kind}/${id}`);
    await page.getByText('This object does not exist').waitFor();
    const acts = page.getByRole('main').getByRole('button', { name: /Delete|test device|Send again|Stop/ });
    expect(await acts.count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('link', { name: back }).click();
    await page.waitForURL(`**/${kind}`);
  });

  it('shows what was done with a device that was deleted meanwhile, in place of its acts', async () => {
    const id = await newDevice();
    const page = await open(`devices/${id}`);
    await button(page, 'Delete the device').click();
    await masterClient(server()).delete(`/1.1/installations/${id}`);
    await page.getByText('This object does not exist').waitFor({ timeout: 15_000 });
    expect(await button(page, 'Delete the device').count()).toBe(0);
    await page.getByRole('heading', { name: 'History' }).waitFor();
  });

  it('of an unknown application has no menu of acts', async () => {
    const page = await open('/apps/no-such-app/users');
    await page.getByText('There is no such page').waitFor();
    expect(await button(page, 'New user').count()).toBe(0);
    await page.getByRole('link', { name: 'Go to the overview' }).click();
    await page.waitForURL('**/overview');
  });
});

describe('a push to many devices', () => {
  it('is confirmed by the number that was shown, and says so where the devices are more meanwhile', async () => {
    const page = await openWithClock('pushes/new');
    let total = 1_200;
    await answer(page, isAsked('POST', /\/pushes\/count$/), () => ({
      json: { total, isExact: true, platforms: {}, unreachable: 0, leftOut: null, sample: [] },
    }));
    const sent: unknown[] = [];
    await answer(page, isAsked('POST', /\/pushes$/), (request) => {
      sent.push(request.postDataJSON());
      return { json: { objectId: UNKNOWN, createdAt: new Date().toISOString() } };
    });
    await page.getByLabel('Text').fill('Autumn sale');
    await page.clock.fastForward(1_000);
    await button(page, 'Send to 1,200 devices').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type 1200 to confirm').fill('1200');
    total = 1_300;
    await page.clock.fastForward(16_000);
    await dialog.getByText('The audience is now 1,300 devices.').waitFor();
    await dialog.getByText('to 1,200 devices').waitFor();
    await dialog.getByLabel('Type 1200 to confirm').waitFor();
    await dialog.getByRole('button', { name: 'Send the push' }).click();
    await page.waitForURL(`**/pushes/${UNKNOWN}`);
    expect(sent).toMatchObject([{ body: { data: { alert: 'Autumn sale' } } }]);
  });
});

describe('hidden characters', () => {
  it('stand as escapes in names, in the JSON of a device and of a push, and in what a delete wants typed', async () => {
    const name = `${unique('ada')}\u202Egnp\u200B`;
    const shown = name.replace('\u202E', String.raw`\u202e`).replace('\u200B', String.raw`\u200b`);
    const { id } = await signUp(appClient(server()), { username: name });
    const page = await open(`users?q=${encodeURIComponent(name)}`);
    await page.getByRole('link', { name: shown }).click();
    await page.getByRole('heading', { level: 1, name: shown }).waitFor();
    await button(page, 'Delete').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(`Type ${shown} to confirm`).fill(shown);
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('The user is deleted.').waitFor();
    expect((await masterClient(server()).get(`/1.1/users/${id}`)).status).toBe(400);

    const device = await newDevice({ note: 'a\u202Eb' });
    await page.goto(operator().urlOf(`devices/${device}`));
    await page.locator('pre', { hasText: String.raw`a\u202eb` }).waitFor();
    const push = { data: { alert: 'free\u200B gift\u202E' }, where: { objectId: device } };
    const sent = await masterClient(server()).post('/1.1/push', push);
    await page.goto(operator().urlOf(`pushes/${String(sent.body['objectId'])}`));
    await page.locator('pre', { hasText: String.raw`free\u200b gift\u202e` }).waitFor();
    await page.getByRole('heading', { level: 1, name: String.raw`free\u200b gift\u202e` }).waitFor();
    await page.goto(operator().urlOf('pushes'));
    await page.getByRole('link', { name: String.raw`free\u200b gift\u202e` }).waitFor();
  });
});

it('a push to single devices counts those with these ids, and the palette opens an object by its id', async () => {
  const installationId = unique('device');
  const ids = [await newDevice(), await newDevice({ installationId })];
  const page = await open('pushes/new');
  await page.getByLabel('Text').fill('hello');
  await page.getByRole('radio', { name: 'Single devices' }).check();
  await page.getByRole('textbox', { name: 'Devices' }).fill(`${ids[0]}\n${installationId}, no-such-device`);
  await button(page, 'Send to 2 devices').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send the push' }).click();
  await page.waitForURL(/\/pushes\/(?!new)[\w-]+$/);
  await expect.poll(() => page.locator('[data-part="targeted"]').textContent()).toBe('2');
  const pushId = page.url().split('/').at(-1) ?? '';

  const role = { name: unique('role').replaceAll('-', '_'), ACL: { '*': { read: true } } };
  const roleId = String((await masterClient(server()).post('/1.1/roles', role)).body['objectId']);
  for (const path of [`devices/${ids[0]}`, `roles/${roleId}`, `pushes/${pushId}`]) {
    await button(page, /^Search/).click();
    const palette = page.getByRole('dialog', { name: 'Search or jump to' });
    const id = path.split('/')[1] ?? '';
    await palette.getByLabel('Search').fill(id);
    await palette.locator('[data-selected]', { hasText: id }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/${path}`);
  }
});
