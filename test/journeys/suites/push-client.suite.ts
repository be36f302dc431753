import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { type DeviceStore, memoryStore, PushClient, type PushMessage } from '#push-client';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  type GatepostServer,
  isProvided,
  TestProcess,
  useBrowser,
} from '#testing';

const PHONE = { width: 390, height: 844 };

interface Device {
  readonly client: PushClient;
  readonly messages: PushMessage[];
  connected(): Promise<void>;
  /** Texts of what has come. */
  alerts(): unknown[];
}

/** The client for device makers, and its example page, on a whole server. */
export function describePushClient(server: () => GatepostServer): void {
  describe('the push client', () => {
    let app: AppKeys;
    let master: ApiClient;
    const started: PushClient[] = [];

    beforeAll(async () => {
      app = await createApplication(server());
      master = ApiClient.forMaster(server().baseUrls[0] ?? '', app);
    });
    afterEach(async () => {
      await Promise.all(started.splice(0).map((client) => client.stop()));
    });

    const newDevice = (store: DeviceStore, channel: string): Device => {
      const messages: PushMessage[] = [];
      let lastError = '';
      const client = new PushClient({
        server: server().baseUrls[0] ?? '',
        appId: app.id,
        registration: { appKey: app.appKey, fields: { deviceType: 'android', channels: [channel] } },
        store,
        WebSocket,
        onMessage: (message) => void messages.push(message),
        onError: ({ message }) => {
          lastError = message;
        },
      });
      started.push(client);
      client.start();
      const connected = () =>
        eventually(() => {
          expect(client.state, lastError).toBe('connected');
        });
      return { client, messages, connected, alerts: () => messages.map(({ data }) => data['alert']) };
    };
    const push = async (body: Record<string, unknown>): Promise<string> => {
      const answer = await master.post('/1.1/push', body);
      expect(answer.status).toBe(200);
      return String(answer.body['objectId']);
    };
    const expectAcknowledged = (id: string) =>
      eventually(async () => {
        const { body } = await master.get(`/1.1/tables/Notifications/${id}`);
        expect([body['status'], body['devices'], body['successes']]).toEqual(['done', 1, 1]);
        const where = encodeURIComponent(JSON.stringify({ objectId: id }));
        const { body: list } = await master.get(`/1.1/notifications?where=${where}`);
        expect(list['results']).toMatchObject([{ objectId: id, devices: 1, successes: 1 }]);
      });

    it('registers its installation, finds its connector, gets what is pushed to its channel, and acknowledges it', async () => {
      const device = newDevice(memoryStore(), 'lamps');
      await device.connected();
      const id = await push({ channels: ['lamps'], data: { alert: 'On', level: 7 } });
      await eventually(() => {
        expect(device.messages).toMatchObject([{ id, data: { alert: 'On', level: 7 } }]);
      });
      expect(device.messages[0]?.expiresAt).toBeGreaterThan(Date.now());
      await expectAcknowledged(id);
    });

    it('gets what was pushed while it was away, in order, and once, also after another start', async () => {
      const store = memoryStore();
      const first = newDevice(store, 'letters');
      await first.connected();
      await first.client.stop();
      for (const alert of ['one', 'two', 'three']) await push({ channels: ['letters'], data: { alert } });
      const second = newDevice(store, 'letters');
      await eventually(() => {
        expect(second.alerts()).toEqual(['one', 'two', 'three']);
      });
      await second.client.stop();
      const third = newDevice(store, 'letters');
      await third.connected();
      await expectAcknowledged(await push({ channels: ['letters'], data: { alert: 'four' } }));
      expect(third.alerts()).toEqual(['four']);
    });

    it('keeps still where the same installation connects elsewhere, which then gets the messages', async () => {
      const store = memoryStore();
      const older = newDevice(store, 'doors');
      await older.connected();
      const newer = newDevice(store, 'doors');
      await newer.connected();
      await eventually(() => {
        expect(older.client.state).toBe('replaced');
      });
      await expectAcknowledged(await push({ channels: ['doors'], data: { alert: 'Open' } }));
      expect([older.alerts(), newer.alerts()]).toEqual([[], ['Open']]);
    });

    describe.runIf(isProvided('browser'))('on its example page', () => {
      const visit = useBrowser();
      const processes: TestProcess[] = [];
      afterEach(async () => {
        await Promise.all(processes.splice(0).map((page) => page.stop()));
      });

      it.each(['light', 'dark'] as const)('shows pushes as they arrive, on a phone, %s', async (colorScheme) => {
        const serve = ['--port=0', '--client=dist/libs/push-client/src'];
        const page = TestProcess.start('libs/push-client/example/serve.mjs', serve, {});
        processes.push(page);
        const [url] = await page.untilPrinted(/http:\S+/);
        const query = new URLSearchParams({
          server: server().baseUrls[0] ?? '',
          appId: app.id,
          appKey: app.appKey,
          channels: `page-${colorScheme}`,
        });
        const reader = await visit({ viewport: PHONE, colorScheme });
        await reader.page.goto(`${url}?${query.toString()}`);
        await reader.page.getByText('Connected', { exact: true }).waitFor();
        const alert = 'Your parcel is <b>here</b>';
        await expectAcknowledged(await push({ channels: [`page-${colorScheme}`], data: { title: 'Parcel', alert } }));
        const item = reader.page.getByRole('listitem');
        expect(await item.getByRole('heading').innerText()).toBe('Parcel');
        expect(await item.innerText()).toContain(alert);
        expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
        const ground = await reader.page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
        expect(ground).toBe(colorScheme === 'light' ? 'rgb(244, 245, 247)' : 'rgb(18, 21, 26)');
        expect(reader.complaints).toEqual([]);
      });
    });
  });
}
