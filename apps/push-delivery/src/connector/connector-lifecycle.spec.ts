import type { HttpAdapterHost } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import type { ConnectorNodes } from '../device-queues/connector-nodes.js';
import type { DeviceQueues, Reassertion } from '../device-queues/device-queues.js';
import { Connections, ConnectorIdentity } from './connections.js';
import { ConnectorPresence } from './connector-lifecycle.js';
import type { DeviceConnection } from './device-connection.js';
import { DeviceSession } from './device-session.js';

const MINUTE_MS = 60_000;

describe('the presence of a connector', () => {
  let connections: Connections;
  let presence: ConnectorPresence;
  let outcome: Reassertion;
  /** The kinds of the effects since the login, by device. */
  let performed: Map<string, string[]>;

  beforeEach(() => {
    vi.useFakeTimers();
    [connections, outcome] = [new Connections(), { elsewhere: [], restored: [] }];
    performed = new Map();
    const nodes: Partial<ConnectorNodes> = { beat: () => Promise.resolve('epoch'), leave: () => Promise.resolve() };
    const queues: Partial<DeviceQueues> = { reassert: () => Promise.resolve(outcome) };
    const http = { httpAdapter: { getHttpServer: () => ({ listening: true, address: () => ({ port: 1 }) }) } };
    presence = new ConnectorPresence(
      nodes as ConnectorNodes,
      queues as DeviceQueues,
      http as unknown as HttpAdapterHost,
      new ConnectorIdentity(new Clock()),
      connections,
    );
  });
  afterEach(async () => {
    await presence.leave();
    vi.useRealTimers();
  });

  /** A device that is logged in, with an empty queue. */
  const logIn = (installationId: string) => {
    const device = { appId: 'app', installationId };
    const session = new DeviceSession({ id: installationId, hasGatepostExtensions: true, pingSeconds: 60, nowMs: 0 });
    session.receive({ kind: 'login', ...device, i: undefined, seen: [] }, 0);
    session.connected(0);
    session.deliverPage([], { refs: [], hasMore: false, dropped: 0, droppedUpTo: 0 }, 0);
    const kinds: string[] = [];
    const perform: DeviceConnection['perform'] = (effects) => kinds.push(...effects.map(({ kind }) => kind));
    const connection = { session, perform } as DeviceConnection;
    connections.add(connection, 0);
    connections.claim(device, connection);
    performed.set(installationId, kinds);
    return device;
  };

  it('lets devices whose sessions the store had lost read their queues', async () => {
    const [lost, moved] = ['lost', 'moved', 'known'].map(logIn);
    outcome = { elsewhere: [moved!], restored: [lost!] };
    presence.onApplicationBootstrap();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect([...performed]).toEqual([
      ['lost', ['peek']],
      ['moved', ['send', 'close']],
      ['known', []],
    ]);
  });
});
