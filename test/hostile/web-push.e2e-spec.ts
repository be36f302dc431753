import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  createApplication,
  eventually,
  gatepost,
  type Json,
  masterClient,
  startStandalone,
  unique,
  useServer,
  useVendors,
} from '#testing';

const PATIENCE_MS = 20_000;
const SOON_MS = 5_000;
const REQUEST_MS = 12_000;
const FLOOD_BYTES = 10_485_760;
/** Bytes of a flood that a server can write before it notices that the client reads no more: the buffers of the system. */
const MAX_READ_BYTES = 8_388_608;
const JSON_TYPE = { 'content-type': 'application/json' };
const CHUNK = Buffer.alloc(65_536, '[');

let flooded = 0;

/** Ten mebibytes, as long as they are taken. */
function flood(response: ServerResponse, status: number): void {
  response.writeHead(status, JSON_TYPE);
  const write = () => {
    while (flooded < FLOOD_BYTES) {
      flooded += CHUNK.length;
      if (!response.write(CHUNK)) return;
    }
    response.end();
  };
  response.on('drain', write);
  write();
}

type Misbehaviour = (response: ServerResponse) => void;

/** Clients choose the push service of their subscription: it may be an attacker's. */
describe('push services that clients have chosen', () => {
  const vendors = useVendors();
  const server = useServer(() => startStandalone(vendors().env()));
  /** Pushes to devices that wait. */
  const held: string[] = [];
  const register = async () => {
    const { body: key } = await appClient(server()).get('/1.1/push/webPushKey');
    const subscription = vendors().webPush.subscribe(String(key['publicKey']));
    const fields = { deviceType: 'web', webPush: subscription };
    const { status, body } = await appClient(server()).post('/1.1/installations', fields);
    expect(status).toBe(201);
    return { subscription, id: String(body['objectId']) };
  };
  const push = async (where: Json) => {
    const { status, body } = await masterClient(server()).post('/1.1/push', { where, data: { alert: 'hello' } });
    expect(status).toBe(200);
    return String(body['objectId']);
  };
  const counts = async (id: string) => {
    const { body } = await masterClient(server()).get(`/1.1/notifications/${id}`);
    return ((body['vendors'] ?? {}) as Record<string, Json>)['web-push'];
  };
  const expectOthersServed = async () => {
    const { subscription, id } = await register();
    const startedAt = performance.now();
    await push({ objectId: id });
    await eventually(() => {
      expect(vendors().webPush.deliveriesTo(subscription)).toHaveLength(1);
    }, SOON_MS);
    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  };

  beforeAll(async () => {
    await eventually(async () => {
      const set = ['vendors', 'set', server().app.id, 'web-push', 'subject=mailto:ops@example.org'];
      expect((await gatepost(server(), ...set)).status).toBe(0);
    });
  });

  it.each<[string, Misbehaviour, Json]>([
    [
      'redirects',
      (response) => response.writeHead(302, { location: '/trap' }).end(),
      { rejected: 1, reasons: { 'status 302': 1 } },
    ],
    [
      'answers a reason that is no code',
      (response) => response.writeHead(403, JSON_TYPE).end(JSON.stringify({ reason: `a\r\n<b>${'x'.repeat(10_000)}` })),
      { rejected: 1, reasons: { 'status 403': 1 } },
    ],
    [
      'answers JSON of a hundred thousand levels',
      (response) => response.writeHead(400, JSON_TYPE).end('['.repeat(100_000)),
      { rejected: 1, reasons: { 'status 400': 1 } },
    ],
    [
      'answers keys of prototypes',
      (response) => response.writeHead(400, JSON_TYPE).end('{"__proto__":{"reason":"Polluted"},"constructor":1}'),
      { rejected: 1, reasons: { 'status 400': 1 } },
    ],
  ])('that %s reject a device, and nothing more', async (_, misbehaviour, expected) => {
    const { subscription, id } = await register();
    vendors().webPush.misbehave(subscription, misbehaviour);
    const sent = await push({ objectId: id });
    await eventually(async () => {
      expect(await counts(sent)).toMatchObject(expected);
    }, PATIENCE_MS);
    await expectOthersServed();
    expect(vendors().webPush.paths).not.toContain('/trap');
  });

  it.each<[string, Misbehaviour]>([
    ['never answers', () => undefined],
    [
      'answers a byte at a time',
      (response) => {
        response.writeHead(201);
        const timer = setInterval(() => response.write(' '), 100);
        response.once('close', () => {
          clearInterval(timer);
        });
      },
    ],
    ['breaks the connection', (response) => response.destroy()],
    [
      'answers ten mebibytes',
      (response) => {
        flood(response, 201);
      },
    ],
    ['asks for a rest of a year', (response) => response.writeHead(429, { 'retry-after': '31536000' }).end()],
  ])('that %s keep their devices waiting, and no others', async (_, misbehaviour) => {
    const { subscription, id } = await register();
    vendors().webPush.misbehave(subscription, misbehaviour);
    const sent = await push({ objectId: id });
    held.push(sent);
    await eventually(() => {
      expect(vendors().webPush.paths).toContain(new URL(subscription.endpoint).pathname);
    }, PATIENCE_MS);
    await expectOthersServed();
    expect(flooded).toBeLessThan(MAX_READ_BYTES);
  });

  it('have taken no message that they have not acknowledged', async () => {
    // Longer than a request may take.
    await sleep(REQUEST_MS);
    for (const id of held) expect(await counts(id)).toMatchObject({ targeted: 1, accepted: 0, waiting: 1 });
    expect(held.length).toBeGreaterThan(0);
  });

  it('are no way into internal networks', async () => {
    const keys = await createApplication(server());
    const api = ApiClient.forApp(server().baseUrls[0] ?? '', keys);
    const { keys: own } = vendors().webPush.subscribe('B'.repeat(87));
    for (const host of [
      '10.0.0.1',
      '169.254.169.254',
      '192.168.1.1',
      '[fd00::1]',
      '0.0.0.0',
      '0x0a000001',
      '167772161',
    ]) {
      const webPush = { endpoint: `https://${host}/${unique('push')}`, keys: own };
      const { status, body } = await api.post('/1.1/installations', { deviceType: 'web', webPush });
      expect([host, status, body['code'], body['error']]).toEqual([
        host,
        400,
        111,
        'webPush: the endpoint must be a public address.',
      ]);
    }
  });
});
