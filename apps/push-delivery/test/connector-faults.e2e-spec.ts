import { request as httpRequest } from 'node:http';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Redis, RedisScript } from '#redis';
import { eventually, TcpProxy, testRun } from '#testing';
import { Connections, ConnectorIdentity } from '../src/connector/connections.js';
import { CONNECTOR_NODES, type ConnectorNodes } from '../src/device-queues/connector-nodes.js';
import { sessionIdOf } from '../src/device-queues/device-queues.js';
import { Connectors } from './connectors.js';
import { TestDevice } from './test-device.js';

const JSON_TEXT = { protocols: [] };

describe('a connector during an outage of Redis', () => {
  let connectors: Connectors;
  let proxy: TcpProxy;
  beforeEach(async () => {
    connectors = new Connectors();
    // The first connector always reaches Redis: the test uses it to read queues and to push.
    await connectors.start();
    proxy = await TcpProxy.to(new URL(testRun().redisUrl), 6379);
  });
  afterEach(async () => {
    await connectors.stop();
    await proxy.close();
  });

  const behindProxy = () => connectors.start(proxy.urlFor(testRun().redisUrl));

  it('records acknowledgements after the outage, and sends nothing twice', async () => {
    const connector = await behindProxy();
    const address = connectors.newAddress();
    const device = await connectors.logIn(address, {}, connector);
    proxy.takeAway();
    const { id } = await connectors.push([address]);
    expect(await device.untilReceived(1)).toEqual([id]);
    await device.roundTrip();
    expect(await connectors.waiting(address)).toEqual([id]);
    proxy.bringBack();
    await connectors.untilEmpty(address);
    expect(device.ids).toEqual([id]);
  });

  it('answers logins after the outage', async () => {
    const connector = await behindProxy();
    proxy.takeAway();
    const address = connectors.newAddress();
    const { id } = await connectors.push([address]);
    const device = await connectors.open({}, connector);
    device.say({ cmd: 'login', ...address });
    await device.roundTrip();
    expect(device.frames).toEqual([{}]);
    proxy.bringBack();
    expect(await device.untilReceived(1)).toEqual([id]);
  });
});

describe('a connector', () => {
  let connectors: Connectors;
  afterEach(() => connectors.stop());

  const started = async (...given: ConstructorParameters<typeof Connectors>) => {
    connectors = new Connectors(...given);
    return connectors.start();
  };

  it('asks the queues for messages whose wake-ups were lost, after a reconnect to the broker', async () => {
    await started();
    const address = connectors.newAddress();
    const device = await connectors.logIn(address);
    connectors.transport.losesHints = true;
    const lost = await connectors.push([address]);
    await device.roundTrip();
    expect(device.ids).toEqual([]);
    connectors.transport.losesHints = false;
    connectors.transport.reconnect();
    expect(await device.untilReceived(1)).toEqual([lost.id]);
    await connectors.untilEmpty(address);
  });

  it('drops messages whose bodies Redis has lost, reports them, and sends the others', async () => {
    const { app } = await started();
    const address = connectors.newAddress();
    const remove = new RedisScript("redis.call('DEL', KEYS[1])");
    for (let count = 0; count < 70; count += 1) {
      const { id } = await connectors.push([address]);
      await app.get(Redis).run(remove, [`push:message:${id}`], []);
    }
    const { id } = await connectors.push([address]);
    const device = await connectors.logIn(address);
    expect(await device.untilReceived(1)).toEqual([id]);
    expect(await device.untilTold('gap')).toMatchObject({ dropped: 64 });
    await connectors.untilEmpty(address);
  });

  it('ends a session whose device is connected elsewhere, even if the eviction was lost', async () => {
    const connector = await started();
    const other = await connectors.start();
    const address = connectors.newAddress();
    const older = await connectors.logIn(address);
    connectors.transport.losesHints = true;
    await connectors.logIn(address, {}, other);
    await older.roundTrip();
    // The lease is over: at its next heartbeat the connector reasserts its sessions.
    await other.app.get<ConnectorNodes>(CONNECTOR_NODES).leave(connector.app.get(ConnectorIdentity).node);
    expect((await older.closed).code).toBe(4111);
  });

  it('keeps the newest session of a device when Redis has lost it and holds an older one', async () => {
    const connector = await started();
    const other = await connectors.start();
    const address = connectors.newAddress();
    const device = await connectors.logIn(address, {}, other);
    const [node, otherNode] = [connector, other].map(({ app }) => app.get(ConnectorIdentity).node);
    const session = sessionIdOf(1, new Date(Date.now() - 60_000), 'gatepost');
    await connectors.queues.connect(address, { node: node!, session }, 1);
    await other.app.get<ConnectorNodes>(CONNECTOR_NODES).leave(otherNode!);
    await eventually(async () => {
      const [state] = await connectors.queues.describe([address]);
      expect(state?.session?.node).toBe(otherNode);
    });
    const { id } = await connectors.push([address]);
    expect(await device.untilReceived(1)).toEqual([id]);
  });

  it('answers two devices with one id with growing delays', async () => {
    await started();
    const address = connectors.newAddress();
    await connectors.logIn(address);
    await connectors.logIn(address);
    const begunMs = performance.now();
    const third = await connectors.logIn(address);
    expect(performance.now() - begunMs).toBeGreaterThan(900);
    const { id } = await connectors.push([address]);
    expect(await third.untilReceived(1)).toEqual([id]);
  });

  it('sends its devices pings, and heartbeats that scripts can see', async () => {
    await started({ pingSeconds: 1 });
    const device = await connectors.logIn(connectors.newAddress());
    await eventually(() => {
      expect(device.frames).toContainEqual({});
      expect(device.pings).toBeGreaterThan(0);
    }, 20_000);
  });

  it('refuses logins over the limit of one address', async () => {
    await started({ loginLimit: '2/3600' });
    for (let count = 0; count < 2; count += 1) await connectors.logIn(connectors.newAddress());
    const device = await connectors.open();
    device.say({ cmd: 'login', ...connectors.newAddress() });
    expect((await device.closed).code).toBe(4116);
  });

  it('counts logins by the address that its proxy names', async () => {
    await started({ loginLimit: '1/3600', trustedProxies: ['loopback'] });
    for (const client of ['203.0.113.1', '203.0.113.2'])
      await connectors.logIn(connectors.newAddress(), { headers: { 'x-forwarded-for': `192.0.2.1, ${client}` } });
    const device = await connectors.open({ headers: { 'x-forwarded-for': '203.0.113.2' } });
    device.say({ cmd: 'login', ...connectors.newAddress() });
    expect((await device.closed).code).toBe(4116);
  });

  it('refuses logins to unknown applications over a limit without a look-up, and to no other', async () => {
    await started({ failedCredentials: '2/3600' });
    const known = connectors.newAddress();
    const logInTo = async (appId: string) => {
      const device = await connectors.open();
      device.say({ cmd: 'login', appId, installationId: known.installationId });
      return (await device.closed).code;
    };
    expect([await logInTo('unknown-1'), await logInTo('unknown-2')]).toEqual([4100, 4100]);
    expect([await logInTo('unknown-3'), await logInTo('unknown-1')]).toEqual([4116, 4116]);
    expect(connectors.transport.lookedUp).toEqual(['unknown-1', 'unknown-2']);
  });

  it('lets devices of an application that exists log in over that limit, whether it has met the application or not', async () => {
    await started({ failedCredentials: '1/3600' });
    connectors.transport.listed = [connectors.appId];
    for (const appId of ['unknown-1', 'unknown-2']) {
      const device = await connectors.open();
      device.say({ cmd: 'login', ...connectors.newAddress(), appId });
      await device.closed;
    }
    await connectors.logIn(connectors.newAddress());
    await connectors.logIn(connectors.newAddress());
    expect(connectors.transport.lookedUp).toEqual(['unknown-1', connectors.appId]);
  });

  it('accepts connections up to its limit, and only on its paths', async () => {
    const { port } = await started({ connectionLimit: 1, reconnectSeconds: 7 });
    await connectors.open();
    await expect(connectors.open()).rejects.toThrow('503');
    await expect(TestDevice.open(`ws://127.0.0.1:${port}/elsewhere`, {})).rejects.toThrow('404');
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  });

  it('ends connections without a login for others at its limit, but no device', async () => {
    await started({ connectionLimit: 2 });
    const device = await connectors.logIn(connectors.newAddress());
    const silent = await connectors.open();
    await expect(connectors.open()).rejects.toThrow('503');
    const newcomer = await eventually(() => connectors.logIn(connectors.newAddress()));
    expect((await silent.closed).code).toBe(1006);
    await expect(connectors.open()).rejects.toThrow('503');
    await Promise.all([device.roundTrip(), newcomer.roundTrip()]);
  });

  it('ignores offers of other protocols in requests', async () => {
    const { port } = await started();
    const headers = {
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
    };
    const statusOf = (method: string, path: string, body: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const request = httpRequest({ port, path, headers, method, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.on('error', reject);
        request.end(body);
      });
    expect(await statusOf('GET', '/healthz', '')).toBe(200);
    expect(await statusOf('POST', '/nothing', 'a body')).toBe(404);
  });

  it.each(['/none', '/push'])('closes a refused connection to %s whose client reads nothing', async (url) => {
    const { app } = await started();
    const unread = new Duplex({ read: () => undefined, write: () => undefined });
    const request = { method: 'GET', url, headers: { connection: 'upgrade', upgrade: 'websocket' } };
    app.getHttpServer().emit('upgrade', request, unread, Buffer.alloc(0));
    await eventually(() => {
      expect(unread.destroyed).toBe(true);
    });
  });

  it('closes its connections when it stops, after recording acknowledgements', async () => {
    const connector = await started({ reconnectSeconds: 7 });
    const other = await connectors.start();
    const [address, plainAddress] = [connectors.newAddress(), connectors.newAddress()];
    const device = await connectors.logIn(address, { acknowledges: false }, other);
    const plain = await connectors.open(JSON_TEXT, other);
    plain.say({ cmd: 'login', ...plainAddress });
    await connectors.push([address]);
    const ids = await device.untilReceived(1);
    device.acknowledge(ids);
    await device.roundTrip();
    await other.stop();
    expect((await device.closed).code).toBe(1012);
    expect((await plain.closed).code).toBe(1012);
    const goaway = await device.untilTold('goaway');
    expect(Number(goaway['retryAfterMs'])).toBeGreaterThanOrEqual(0);
    expect(Number(goaway['retryAfterMs'])).toBeLessThanOrEqual(7_000);
    expect(plain.frames.some(({ cmd }) => cmd === 'goaway')).toBe(false);
    expect(await connectors.waiting(address)).toEqual([]);
    expect(await connectors.queues.countConnected(connectors.appId)).toBe(0);
    const again = await connectors.logIn(plainAddress, {}, connector);
    await again.roundTrip();
  });

  it('records acknowledgements that arrive after it has announced its stop', async () => {
    await started();
    const other = await connectors.start();
    const address = connectors.newAddress();
    const device = await connectors.logIn(address, { acknowledges: false }, other);
    await connectors.push([address]);
    const ids = await device.untilReceived(1);
    // The device reads the close frame only after it has acknowledged.
    device.pause();
    const stopping = other.stop();
    await eventually(() => {
      expect([...other.app.get(Connections).all()].every(({ session }) => session.hasEnded())).toBe(true);
    });
    device.acknowledge(ids);
    device.resume();
    await stopping;
    expect(await connectors.waiting(address)).toEqual([]);
  });

  it('refuses connections while it stops, so that a load balancer uses another connector', async () => {
    await started();
    const other = await connectors.start();
    const device = await connectors.logIn(connectors.newAddress(), {}, other);
    // This device delays the stop, because it does not read the close frame.
    device.pause();
    const stopping = other.stop();
    await eventually(() => expect(connectors.open({}, other)).rejects.toThrow('ECONNREFUSED'));
    expect(other.app.get(Connections).count).toBe(1);
    await stopping;
  });

  it('waits for a device that reads slowly, and sends nothing twice', async () => {
    await started();
    const address = connectors.newAddress();
    const device = await connectors.logIn(address);
    device.pause();
    for (let count = 0; count < 40; count += 1) await connectors.push([address], { body: `"${'a'.repeat(4_000)}"` });
    expect(await connectors.waiting(address)).toHaveLength(40);
    device.resume();
    await device.untilReceived(40);
    await eventually(() => {
      expect(device.ids).toHaveLength(new Set(device.ids).size);
    });
    await connectors.untilEmpty(address);
  });
});
