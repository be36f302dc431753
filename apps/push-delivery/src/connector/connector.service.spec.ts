import type { Duplex } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { Clock, groupedBy } from '#bootstrap';
import { connectorMessages } from '#contracts';
import { DirectMessages, InProcessTransport } from '#messaging';
import type { DeviceQueues } from '../device-queues/device-queues.js';
import { Connections, ConnectorIdentity } from './connections.js';
import { ConnectorInbox } from './connector.service.js';
import type { DeviceAdmission } from './device-admission.js';
import { type ConnectionHost, DeviceConnection, type DeviceSocket } from './device-connection.js';
import { DeviceSession } from './device-session.js';
import { framingOf } from './framings/framings.js';
import { MessageCache } from './message-cache.js';

/** More than the connector serves before it lets other work run. */
const MANY = 600;

describe('the notifications of a connector', () => {
  let connections: Connections;
  /** The messages in each frame, by device. */
  let frames: Map<string, string[][]>;
  let buffers: Set<Buffer>;
  let notify: (id: string, devices: readonly string[], isBulk?: boolean) => Promise<void>;

  beforeEach(() => {
    connections = new Connections();
    frames = new Map();
    buffers = new Set();
    const identity = new ConnectorIdentity(new Clock());
    const messages = new DirectMessages(new InProcessTransport());
    const cache = new MessageCache({} as DeviceQueues);
    new ConnectorInbox(
      identity,
      messages,
      connections,
      cache,
      {} as DeviceAdmission,
      new Clock(),
    ).onApplicationBootstrap();
    notify = (id, devices, isBulk = false) => {
      const bodies = { ios: `"${id} for iOS"` };
      const message = { id, appId: 'app', order: 1, expiresAt: Date.now() + 60_000, bodies, body: `"${id}"` };
      const targets = groupedBy(devices, (device) => (device.startsWith('iphone') ? 'ios' : 'web'));
      return messages.send(identity.node, connectorMessages.deliver, {
        isBulk,
        wakeUps: [{ message, targets, isRepeated: false }],
      });
    };
  });

  /** A device that is logged in, with an empty queue. */
  const logIn = (installationId: string) => {
    const device = { appId: 'app', installationId };
    const session = new DeviceSession({ id: installationId, hasGatepostExtensions: true, pingSeconds: 60, nowMs: 0 });
    session.receive({ kind: 'login', ...device, i: undefined, seen: [] }, 0);
    session.connected(0);
    session.deliverPage([], { refs: [], hasMore: false, dropped: 0, droppedUpTo: 0 }, 0);
    const own: string[][] = [];
    const stream: Pick<Duplex, 'writable' | 'writableLength' | 'write'> = {
      writable: true,
      writableLength: 0,
      write: (frame: Buffer) => {
        buffers.add(frame);
        const { msg = [] } = JSON.parse(frame.toString('utf8', frame.indexOf('{'))) as { msg?: string[] };
        own.push(msg);
        return true;
      },
    };
    const connection = new DeviceConnection(
      { attach: () => undefined, close: () => undefined } as Partial<DeviceSocket> as DeviceSocket,
      stream as Duplex,
      {
        session,
        framing: framingOf('gatepost.push.v1'),
        network: '',
        host: { sent: () => undefined } as Partial<ConnectionHost> as ConnectionHost,
      },
    );
    connections.claim(device, connection);
    frames.set(installationId, own);
    return installationId;
  };

  it('that wait for an earlier one reach each device in one frame, in their order, and devices share its bytes', async () => {
    const devices = Array.from({ length: MANY }, (_, place) => logIn(`device${place}`));
    const [first, other, iphone, last] = [devices[0]!, logIn('other'), logIn('iphone'), devices.at(-1)!];
    const handled = [notify('a', [...devices, other, iphone])];
    await Promise.resolve();
    handled.push(
      notify('b', [...devices, iphone]),
      notify('c', [other, last]),
      notify('d', [...devices, other, iphone]),
    );
    await Promise.all(handled);
    expect(frames.get(first)).toEqual([['a'], ['b', 'd']]);
    expect(frames.get(other)).toEqual([['a'], ['c', 'd']]);
    expect(frames.get(iphone)).toEqual([['a for iOS'], ['b for iOS', 'd for iOS']]);
    expect(frames.get(last)).toEqual([['a'], ['b', 'c', 'd']]);
    expect(buffers.size).toBe(6);
  });

  it('of large pushes come after those before them, and are overtaken by later ones', async () => {
    const devices = Array.from({ length: MANY }, (_, place) => logIn(`device${place}`));
    const last = devices.at(-1)!;
    const before = notify('before', devices);
    const large = notify('large', devices, true);
    await before;
    const later = notify('later', [last]);
    await Promise.all([large, later]);
    expect(frames.get(last)).toEqual([['before'], ['later'], ['large']]);
  });

  it('of which one fails at a connection end that one, and reach the other devices', async () => {
    const failing = logIn('failing');
    const { session } = connections.find({ appId: 'app', installationId: failing })!;
    session.wakeUp = () => {
      throw new Error('a fault');
    };
    await notify('a', [failing, logIn('device')]);
    expect([session.isOpen, frames.get('device')]).toEqual([false, [['a']]]);
  });
});
