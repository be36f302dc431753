import type { Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import WebSocket from 'ws';
import { memoryStore, PushClient } from '#push-client';
import { accessibilityProblems, eventually, masterClient, unique } from '#testing';
import { type OperatorBrowser, PASSWORD, type ServerWithConsole } from './operator.js';

const MARK = 'Use as my test device';
const UNMARK = 'Remove from my test devices';

interface ConnectedDevice {
  readonly channel: string;
  /** The texts of its pushes. */
  readonly received: readonly unknown[];
}

/** An owner and a support person send pushes to their own test devices. */
export function describeTestDevices(server: () => ServerWithConsole, operator: () => OperatorBrowser): void {
  const clients: PushClient[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.stop()));
  });

  const connectedDevice = async (): Promise<ConnectedDevice> => {
    const { baseUrls, app } = server();
    const [channel, received] = [unique('channel'), [] as unknown[]];
    const client = new PushClient({
      server: baseUrls[0] ?? '',
      appId: app.id,
      registration: { appKey: app.appKey, fields: { deviceType: 'android', channels: [channel] } },
      store: memoryStore(),
      WebSocket,
      onMessage: ({ data }) => {
        received.push(data['alert']);
      },
      onError: () => undefined,
    });
    clients.push(client);
    client.start();
    await eventually(() => {
      expect(client.state).toBe('connected');
    });
    return { channel, received };
  };
  const openDevice = async (page: Page, { channel }: ConnectedDevice) => {
    await page.goto(operator().urlOf(`devices?channel=${channel}`));
    await page.getByRole('table', { name: 'Devices' }).getByRole('link').click();
  };
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const supportPage = async (): Promise<Page> => {
    const address = `${unique('support')}@example.com`;
    const owner = await operator().open('/operators');
    await press(owner, 'Invite an operator');
    const dialog = owner.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Bo');
    await dialog.getByLabel('E-mail address').fill(address);
    await dialog.getByLabel('All applications').selectOption('support');
    await dialog.getByRole('button', { name: 'Invite an operator' }).click();
    const link = await owner.locator('[data-link]').textContent();
    const page = await operator().visit({ locale: 'en-GB' });
    await page.goto(link ?? '');
    await page.getByLabel('New password').fill(PASSWORD);
    await press(page, 'Begin');
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return page;
  };

  it('mark a connected device, and send it a push that no other device gets', async () => {
    const [mine, other] = [await connectedDevice(), await connectedDevice()];
    const page = await operator().open('pushes/new');
    const button = page.getByRole('button', { name: 'Send to my 1 test device' });
    await page.getByLabel('Text').fill('Only for me');
    await page.getByText('You have no test device').waitFor();
    expect(await page.getByRole('button', { name: 'Send to my 0 test devices' }).isDisabled()).toBe(true);

    await openDevice(page, mine);
    await press(page, MARK);
    await page.getByRole('button', { name: UNMARK }).waitFor();
    await page.goto(operator().urlOf(`devices?channel=${mine.channel}`));
    await page.getByText('my test device').waitFor();

    await page.goto(operator().urlOf('pushes/new'));
    const text = page.getByLabel('Text');
    await text.fill('Only for me');
    await button.click();
    await page.getByText('Sent to 1 test device.').waitFor();
    expect(await text.inputValue()).toBe('Only for me');
    expect(await accessibilityProblems(page)).toEqual([]);
    await eventually(() => {
      expect(mine.received).toEqual(['Only for me']);
    });
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Watch it in another tab' }).click();
    const progress = await opened;
    await expect.poll(() => progress.locator('[data-part="targeted"]').textContent()).toBe('1');
    await expect.poll(() => progress.locator('[data-part="delivered"]').textContent()).toBe('1');
    await progress.close();

    await button.click();
    await eventually(() => {
      expect(mine.received).toEqual(['Only for me', 'Only for me']);
    });
    expect(other.received).toEqual([]);

    await openDevice(page, mine);
    await press(page, UNMARK);
    await page.getByRole('button', { name: MARK }).waitFor();
    await page.goto(operator().urlOf('pushes/new'));
    await page.getByText('You have no test device').waitFor();
  });

  it('send pushes to their test devices only, as a support person', async () => {
    const mine = await connectedDevice();
    const page = await supportPage();
    await openDevice(page, mine);
    await press(page, MARK);
    await page.getByRole('button', { name: UNMARK }).waitFor();
    await page.goto(operator().urlOf('pushes'));
    await page.getByRole('link', { name: 'New push' }).click();
    await page.getByLabel('Text').fill('By support');
    await page.getByText('"alert":"By support"').waitFor();
    expect(await page.getByRole('heading', { name: 'Audience' }).count()).toBe(0);
    await press(page, 'Send to my 1 test device');
    await page.getByText('Sent to 1 test device.').waitFor();
    await eventually(() => {
      expect(mine.received).toEqual(['By support']);
    });

    const where = JSON.stringify({ channels: mine.channel });
    const { body } = await masterClient(server()).get(
      `/1.1/installations?${new URLSearchParams({ where }).toString()}`,
    );
    const [{ objectId } = { objectId: '' }] = body['results'] as { objectId: string }[];
    await masterClient(server()).delete(`/1.1/installations/${objectId}`);
    await page.reload();
    await page.getByText('1 of your test devices does not exist any more.').waitFor();
  });
}
