import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  appClient,
  eventually,
  gatepost,
  type Json,
  masterClient,
  startStandalone,
  TestProcess,
  useBrowser,
  useServer,
  useVendors,
  type VendorServices,
} from '#testing';

type Subscription = ReturnType<VendorServices['webPush']['subscribe']>;

/**
 * Stands for the browser's connection to its push service, which a test cannot reach: subscriptions are made at the stand-in. Everything
 * else is Chromium's own.
 */
const SUBSCRIBE_AT_STAND_IN = `
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new Error('browsers refuse subscriptions for silent pushes');
    const subscription = await subscribeAtStandIn(applicationServerKey);
    const unsubscribe = () => { window.subscription = undefined; return unsubscribeAtStandIn(); };
    window.subscription = { toJSON: () => ({ ...subscription, expirationTime: null }), unsubscribe };
    return window.subscription;
  };
  PushManager.prototype.getSubscription = async () => window.subscription ?? null;
`;
const NOTIFICATIONS = `
  navigator.serviceWorker.ready
    .then((registration) => registration.getNotifications())
    .then((shown) => shown.map(({ title, body, tag }) => ({ title, body, tag })))
`;

describe('the example page of the push client, in Chromium', () => {
  const vendors = useVendors();
  const server = useServer(() => startStandalone(vendors().env()));
  const visit = useBrowser();
  let serving: TestProcess;
  let url = '';
  let subscription: Subscription | undefined;

  const push = async (data: Json) => {
    const { status, body } = await masterClient(server()).post('/1.1/push', { data });
    expect(status).toBe(200);
    return String(body['objectId']);
  };
  const record = async (id: string) => (await masterClient(server()).get(`/1.1/notifications/${id}`)).body;

  beforeAll(async () => {
    serving = TestProcess.start(
      'libs/push-client/example/serve.mjs',
      ['--port=0', '--client=dist/libs/push-client/src'],
      {},
    );
    [url = ''] = await serving.untilPrinted(/http:\S+/);
    await eventually(async () => {
      const set = ['vendors', 'set', server().app.id, 'web-push', 'subject=mailto:ops@example.org'];
      expect((await gatepost(server(), ...set)).status).toBe(0);
    });
  });
  afterAll(() => serving.stop());

  it('is a device: its worker shows what the push service delivers, until notifications are turned off', async () => {
    const { page, complaints } = await visit({ permissions: ['notifications'] });
    await page.exposeFunction('subscribeAtStandIn', (key: string) => {
      subscription = vendors().webPush.subscribe(key);
      return subscription;
    });
    await page.exposeFunction('unsubscribeAtStandIn', () => {
      if (subscription !== undefined) vendors().webPush.unsubscribe(subscription);
    });
    await page.addInitScript(SUBSCRIBE_AT_STAND_IN);
    const devTools = await page.context().newCDPSession(page);
    const registrations: string[] = [];
    devTools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: some }) => {
      registrations.push(...some.map(({ registrationId }) => registrationId));
    });
    await devTools.send('ServiceWorker.enable');
    const { app, baseUrls } = server();
    const query = new URLSearchParams({ server: baseUrls[0] ?? '', appId: app.id, appKey: app.appKey });
    await page.goto(`${url}?${query.toString()}`);
    await page.getByRole('button', { name: 'Turn on notifications' }).click();
    await page.getByRole('button', { name: 'Turn off notifications' }).waitFor();
    const key = await appClient(server()).get('/1.1/push/webPushKey');
    expect(key.body['publicKey']).toMatch(/^B[\w-]{86}$/);

    const id = await push({ title: 'Canteen', alert: 'Lunch is <b>ready</b>', id: 7 });
    await eventually(() => {
      expect(vendors().webPush.deliveriesTo(subscription!)).toHaveLength(1);
    });
    const [{ message } = { message: {} }] = vendors().webPush.deliveriesTo(subscription!);
    expect(message).toMatchObject({ id: 7, _id: id });
    await devTools.send('ServiceWorker.deliverPushMessage', {
      origin: new URL(url).origin,
      registrationId: registrations.at(-1) ?? '',
      data: JSON.stringify(message),
    });
    const item = page.getByRole('listitem');
    await item.waitFor();
    expect(await item.innerText()).toContain('Lunch is <b>ready</b>');
    const shown = [{ title: 'Canteen', body: 'Lunch is <b>ready</b>', tag: id }];
    await expect.poll(() => page.evaluate(NOTIFICATIONS)).toEqual(shown);
    await eventually(async () => {
      expect(await record(id)).toMatchObject({ devices: 1, webSuccesses: 1, lcSuccesses: 0 });
    });

    await page.getByRole('button', { name: 'Turn off notifications' }).click();
    await page.getByRole('button', { name: 'Turn on notifications' }).waitFor();
    const later = await push({ alert: 'Over the connection again' });
    await page.getByText('Over the connection again').waitFor();
    await eventually(async () => {
      const counts = await record(later);
      expect(counts).toMatchObject({ devices: 1, successes: 1 });
      expect(Object.keys(counts)).not.toContain('vendors');
    });
    expect(complaints).toEqual([]);
  });
});
