import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, type GatepostServer, signUp, unique } from '#testing';
import { answer, isAsked } from './page-requests.js';

const LATER = new Date(Date.now() + 86_400_000).toISOString();
const NOW = new Date().toISOString();
const button = (page: Page, name: string) => page.getByRole('button', { name });
/** An element of the page; the tests are compiled without its types. */
type Sized = Readonly<Record<'clientWidth' | 'scrollWidth', number>>;

const push = {
  ...{
    objectId: 'fedcba9876543210fedcba98',
    status: 'done',
    createdAt: NOW,
    title: 'Autumn sale',
    targeted: 3,
    delivered: 0,
  },
  ...{
    error: 'the search was cut off',
    expiresAt: LATER,
    startsAt: null,
    lifeSeconds: 86_400,
    flowControl: null,
    prod: 'prod',
  },
  ...{ data: { alert: 'Autumn sale' }, where: null, progress: null },
  platforms: { ios: { targeted: 3, delivered: 0, queued: 0, expired: 0, overflowed: 0, unreachable: 0, vendor: 3 } },
  vendors: {
    apns: {
      ...{ targeted: 3, accepted: 0, invalid: 0, rejected: 2, expired: 0, waiting: 1, paused: 1 },
      reasons: { BadDeviceToken: 2 },
    },
  },
};

const message = {
  ...{ id: '11111111-1111-4111-8111-111111111111', channel: 'mail', kind: 'verifyEmail', status: 'dead' },
  ...{ recipient: 'ada@example.con', userId: 'fedcba9876543210fedcba98', lastError: '550 no such domain', attempts: 9 },
  ...{ createdAt: NOW, expiresAt: LATER, nextAttemptAt: null, settledAt: NOW },
};

/** Pages while a service does not answer, with empty lists, after refusals, and with the acts on an object. */
export function describeStates(server: () => GatepostServer, open: (path: string) => Promise<Page>): void {
  describe('a page', () => {
    it('names its service while that is away, and the menu marks the pages that lack it', async () => {
      const page = await open('overview');
      let silent = ['mail'];
      await answer(page, isAsked('GET', /\/health$/), () => ({ json: { processes: [], silent } }));
      await page.reload();
      const link = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name });
      const marks = page.getByRole('img', { name: 'a service does not answer' });
      await link('Messages').getByRole('img', { name: 'a service does not answer' }).waitFor();
      expect([await marks.count(), await link('Users').getByRole('img').count()]).toEqual([3, 0]);
      expect(await page.getByText('The service mail does not answer.').count()).toBe(0);
      await link('Messages').click();
      await page.getByText('The service mail does not answer.').waitFor();
      silent = [];
      await page.reload();
      await page.getByRole('table', { name: 'Messages' }).or(page.getByText('No messages')).waitFor();
      await expect.poll(() => marks.count()).toBe(0);
      expect(await page.getByText('The service mail does not answer.').count()).toBe(0);
    });

    it('of an empty list with filters offers the list without them', async () => {
      const page = await open('messages?status=dropped&user=nobody');
      await page.getByText('Nothing matches the filters').waitFor();
      expect(await page.getByText('No messages').count()).toBe(0);
      expect(await page.getByLabel('User id').inputValue()).toBe('nobody');
      await page.getByRole('link', { name: 'Clear the filters' }).click();
      await expect.poll(() => new URL(page.url()).search).toBe('');
      await expect.poll(() => page.getByText('Nothing matches the filters').count()).toBe(0);
    });

    it('of a list has room for all columns beside a long name, and for whole states on a phone', async () => {
      const client = appClient(server());
      const email = `${unique('a').replace('-', '')}@example.com`;
      await signUp(client, { email });
      await signUp(client, { username: unique('long').padEnd(250, 'g') });
      await client.post('/1.1/installations', { deviceType: 'android', installationId: unique('device') });
      const page = await open('users');
      const box = await page.getByRole('cell', { name: email }).locator('bdi').boundingBox();
      expect(box?.height).toBeLessThan(50);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.goto(page.url().replace(/users$/, 'devices'));
      const states = page.locator('.mantine-Badge-label');
      await states.first().waitFor();
      const cut = (labels: readonly unknown[]) =>
        (labels as Sized[]).filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length;
      expect(await states.evaluateAll(cut)).toBe(0);
    });

    it('of a push says what each result means, and why a vendor has refused devices', async () => {
      const page = await open('pushes');
      await answer(page, isAsked('GET', /\/pushes\/\w+$/), () => ({ json: { push } }));
      await page.goto(page.url().replace(/pushes$/, `pushes/${push.objectId}`));
      const vendors = page.getByRole('table', { name: 'Vendors' });
      await vendors.getByText('BadDeviceToken: 2').waitFor();
      expect(await vendors.getByRole('columnheader', { name: 'of them paused' }).count()).toBe(1);
      expect(await vendors.getByRole('rowheader').allTextContents()).toEqual(['apns']);
      await page.getByText('No connection leads to the device').waitFor();
      expect(await page.getByText(push.error).getAttribute('lang')).toBe('en');
      await page.getByRole('heading', { name: 'History' }).waitFor();
    });

    it('of a mail to a wrong address sends a new one to the address that the user has now', async () => {
      const page = await open('messages');
      await answer(page, isAsked('GET', /\/messages\/[\w-]+$/), () => ({ json: { message, history: [] } }));
      await answer(page, isAsked('POST', /\/send-verification$/), () => ({ json: { recipient: 'ada@example.com' } }));
      await page.goto(page.url().replace(/messages$/, `messages/${message.id}`));
      await button(page, 'Send a new verification mail').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText('ada@example.com', { exact: false }).waitFor();
    });

    it('of a user without a password names what signs the user in', async () => {
      const authData = { anonymous: { id: randomUUID() } };
      const { body } = await appClient(server()).post('/1.1/users', { authData });
      const page = await open(`users/${String(body['objectId'])}`);
      await page.getByText('The account has no password', { exact: false }).waitFor();
      await page.route(/\/api\/apps\/[\w-]+\/users\/\w+$/, async (route) => {
        const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' };
        const { user } = (await (await route.fetch({ headers })).json()) as { user: object };
        const accounts = [{ platform: 'weixin', uid: 'o1', isVerified: true }];
        await route.fulfill({ json: { user: { ...user, accounts } } });
      });
      await page.reload();
      await page.getByText('The account has no password: it signs in by weixin.').waitFor();
    });

    it('names the missing permission in the language of the server', async () => {
      const page = await open('roles');
      const error = 'This needs the permission roles.write.';
      const json = { code: 403, error, name: 'FORBIDDEN', requestId: 'r' };
      await answer(page, isAsked('GET', /\/roles$/), () => ({ status: 403, json }));
      await page.reload();
      await page.getByText(error).waitFor();
      expect(await page.getByText(error).getAttribute('lang')).toBe('en');
      await page.getByText('An owner can give you a role with this permission.').waitFor();
    });

    it('of an object and the overview show the last acts', async () => {
      const device = { deviceType: 'android', installationId: unique('device'), channels: [] };
      const { body } = await appClient(server()).post('/1.1/installations', device);
      const page = await open(`devices/${String(body['objectId'])}`);
      const acts = page.getByRole('table', { name: 'Audit log' });
      await page.getByText('No entries').waitFor();
      await page.getByLabel('Channels').fill('news');
      await button(page, 'Save').click();
      await expect.poll(() => acts.getByRole('rowheader').count()).toBe(1);
      await page.goto(page.url().replace(/devices\/\w+$/, 'overview'));
      await page.getByRole('heading', { name: 'Latest acts' }).waitFor();
      await expect.poll(() => acts.getByRole('rowheader').first().textContent()).toContain('Device changed');
    });
  });
}
