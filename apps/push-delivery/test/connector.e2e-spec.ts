import { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunningService } from '#bootstrap';
import { eventually } from '#testing';
import type { DeviceAddress } from '../src/device-queues/device-queues.js';
import { Connectors } from './connectors.js';

const JSON_TEXT = { protocols: [] };

describe('a connector', () => {
  const connectors = new Connectors();
  let second: RunningService;
  beforeAll(async () => {
    await connectors.start();
    second = await connectors.start();
  });
  afterAll(() => connectors.stop());
  afterEach(() => vi.restoreAllMocks());

  it('sends the answer to a login and a message that it has in memory by one write', async () => {
    const [first, last] = [connectors.newAddress(), connectors.newAddress()];
    const { id } = await connectors.push([first, last]);
    await (await connectors.logIn(first)).untilReceived(1);
    const writes = vi.spyOn(Socket.prototype, '_writev');
    await (await connectors.logIn(last)).untilReceived(1);
    // Node has replaced the entries by their buffers.
    const texts = writes.mock.calls.map(([chunks]) => (chunks as unknown[]).map(String).join(''));
    expect(texts.filter((text) => text.includes('"loggedin"') && text.includes(id))).toHaveLength(1);
  });

  it('delivers waiting messages in the order of the pushes, and deletes them once they are acknowledged', async () => {
    const address = connectors.newAddress();
    const pushes = [
      await connectors.push([address]),
      await connectors.push([address]),
      await connectors.push([address]),
    ];
    const device = await connectors.logIn(address);
    expect(await device.untilReceived(3)).toEqual(pushes.map(({ id }) => id));
    expect(device.bodies).toEqual(pushes.map(({ body }) => body));
    await connectors.untilEmpty(address);
  });

  it('delivers a new push at once', async () => {
    const address = connectors.newAddress();
    const device = await connectors.logIn(address);
    const { id, body } = await connectors.push([address]);
    expect(await device.untilReceived(1)).toEqual([id]);
    expect(device.bodies).toEqual([body]);
    await connectors.untilEmpty(address);
  });

  it('gives each platform its own body', async () => {
    const address = connectors.newAddress();
    const device = await connectors.logIn(address);
    await connectors.push([address], { bodies: { web: '{"for":"web"}' } });
    await device.untilReceived(1);
    expect(device.bodies).toEqual([{ for: 'web' }]);
  });

  it('keeps unacknowledged messages for the next login', async () => {
    const address = connectors.newAddress();
    const deaf = await connectors.logIn(address, { acknowledges: false });
    const { id } = await connectors.push([address]);
    await deaf.untilReceived(1);
    deaf.terminate();
    const device = await connectors.logIn(address);
    expect(await device.untilReceived(1)).toEqual([id]);
    await connectors.untilEmpty(address);
  });

  it('never sends an unacknowledged message twice on one socket, for any wake-ups', async () => {
    const address = connectors.newAddress();
    const device = await connectors.logIn(address, { acknowledges: false });
    await connectors.push([address]);
    await device.untilReceived(1);
    await connectors.push([address], {}, true);
    await device.untilReceived(2);
    await device.roundTrip();
    expect(new Set(device.ids).size).toBe(device.ids.length);
  });

  it('does not send messages that the login names, and acknowledges them', async () => {
    const address = connectors.newAddress();
    const [seen, fresh] = [await connectors.push([address]), await connectors.push([address])];
    const device = await connectors.open();
    device.say({ cmd: 'login', ...address, seen: [seen.id] });
    expect(await device.untilReceived(1)).toEqual([fresh.id]);
    await connectors.untilEmpty(address);
  });

  it('sends a slow device one window, and the rest as it acknowledges', async () => {
    const address = connectors.newAddress();
    const pushes = [];
    for (let count = 0; count < 80; count += 1) pushes.push((await connectors.push([address])).id);
    const device = await connectors.logIn(address, { acknowledges: false });
    await device.untilReceived(32);
    await device.roundTrip();
    expect(device.ids).toEqual(pushes.slice(0, 32));
    for (let count = 32; count < 80; count = device.ids.length) {
      device.acknowledge(device.ids.slice(-32));
      await device.untilReceived(count + 1);
    }
    device.acknowledge(device.ids);
    expect(device.ids).toEqual(pushes);
    await connectors.untilEmpty(address);
  });

  it('reports the drops of a full queue in gatepost.push.v1, until the device acknowledges', async () => {
    const address = connectors.newAddress();
    for (let count = 0; count < 103; count += 1) await connectors.push([address]);
    const forgetful = await connectors.logIn(address, { acknowledges: false });
    expect(await forgetful.untilTold('gap')).toMatchObject({ dropped: 3 });
    const device = await connectors.logIn(address);
    const gap = await device.untilTold('gap');
    expect(gap).toMatchObject({ dropped: 3 });
    device.acknowledge([String(gap['id'])]);
    await device.untilReceived(100);
    await connectors.untilEmpty(address);
    await eventually(async () => {
      expect((await connectors.queues.peek(address, 1)).dropped).toBe(0);
    });
  });

  it('accepts no acknowledgement of a message that it did not send, or of another device', async () => {
    const [address, other] = [connectors.newAddress(), connectors.newAddress()];
    const { id } = await connectors.push([address]);
    const stranger = await connectors.logIn(other);
    stranger.say({ cmd: 'ack', ...address, ids: [id, id, 'unknown'] });
    await stranger.roundTrip();
    const device = await connectors.logIn(address);
    expect(await device.untilReceived(1)).toEqual([id]);
  });

  it('ends the older of two connections, here and on another connector', async () => {
    const address = connectors.newAddress();
    const oldest = await connectors.logIn(address);
    const older = await connectors.logIn(address);
    expect((await oldest.closed).code).toBe(4111);
    const newest = await connectors.logIn(address, {}, second);
    expect((await older.closed).code).toBe(4111);
    const { id } = await connectors.push([address]);
    expect(await newest.untilReceived(1)).toEqual([id]);
  });

  it('uses the protocol of leancloud-push', async () => {
    const address = connectors.newAddress();
    const { id, body } = await connectors.push([address]);
    const device = await connectors.open(JSON_TEXT);
    device.say({});
    await eventually(() => {
      expect(device.frames).toEqual([{}]);
    });
    device.say({ cmd: 'login', ...address });
    await device.untilReceived(1);
    expect(device.frames.at(-1)).toEqual({ cmd: 'data', ids: [id], msg: [body] });
  });

  describe('closes', () => {
    const hello = () => ({ cmd: 'login', ...connectors.newAddress() });
    it.each<[string, number, (address: DeviceAddress) => string]>([
      ['logins to unknown applications', 4100, () => JSON.stringify({ ...hello(), appId: 'unknown' })],
      ['logins to no application', 4100, () => '{"cmd":"login","installationId":"a"}'],
      ['logins without an id', 4103, () => JSON.stringify({ ...hello(), installationId: '' })],
      ['logins with an id of another kind', 4103, () => JSON.stringify({ ...hello(), installationId: { a: 1 } })],
      ['logins with a long id', 4103, () => JSON.stringify({ ...hello(), installationId: 'a'.repeat(129) })],
      ['texts that are no JSON', 1007, () => '{"cmd"'],
      ['JSON that is no object', 1007, () => '[]'],
      ['frames that are too long', 1009, () => JSON.stringify({ cmd: 'ack', ids: ['a'.repeat(20_000)] })],
    ])('%s with %i', async (_, code, frame) => {
      const device = await connectors.open();
      device.sendRaw(frame(connectors.newAddress()));
      expect((await device.closed).code).toBe(code);
      if (code > 1009) expect(await device.untilTold('error')).toMatchObject({ code });
    });

    it('floods with 4116', async () => {
      const device = await connectors.logIn(connectors.newAddress());
      for (let count = 0; count < 200; count += 1) device.acknowledge(['unknown']);
      expect((await device.closed).code).toBe(4116);
    });

    it('a second login as another device with 4103', async () => {
      const device = await connectors.logIn(connectors.newAddress());
      device.say({ cmd: 'login', ...connectors.newAddress() });
      expect((await device.closed).code).toBe(4103);
    });
  });
});
