import { Logger } from '@nestjs/common';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PushMessage } from '#contracts';
import { appError } from '#errors';
import type { DirectMessages } from '#messaging';
import type { ConnectorNodes } from '../device-queues/connector-nodes.js';
import { WakeUpNotifications } from './push-delivery.js';

const message: PushMessage = { id: 'push', appId: 'app', order: 1, expiresAt: 0, bodies: {}, body: '{}' };
const device = (installationId: string, node: string) => ({ installationId, platform: 'web', node });

/** Hints over a broker that refuses messages for a connector as often as it is told. */
function hintsWith({ refusals = {}, live = [] }: { refusals?: Record<string, number>; live?: string[] }) {
  const taken: unknown[] = [];
  const left = new Map(Object.entries(refusals));
  const send = (node: string, _: unknown, payload: unknown) => {
    const refused = left.get(node) ?? 0;
    left.set(node, refused - 1);
    if (refused > 0) return Promise.reject(appError('SERVICE_UNAVAILABLE'));
    taken.push([node, payload]);
    return Promise.resolve();
  };
  const connectors = { live: () => Promise.resolve(live.map((id) => ({ id, port: 1 }))) };
  const hints = new WakeUpNotifications({ send } as unknown as DirectMessages, connectors as unknown as ConnectorNodes);
  return { hints, taken };
}

describe('hints to connectors', () => {
  const { signal } = new AbortController();

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  it('are one message for each connector', async () => {
    const { hints, taken } = hintsWith({});
    const devices = [device('a', 'one'), device('b', 'two'), device('c', 'one')];
    await hints.tell({ message, devices, isRepeated: false }, signal);
    expect(taken).toEqual([
      [
        'one',
        {
          message,
          targets: [
            ['a', 'web'],
            ['c', 'web'],
          ],
          isRepeated: false,
        },
      ],
      ['two', { message, targets: [['b', 'web']], isRepeated: false }],
    ]);
  });

  it('come again to a connector that lives and could not take them, and to no other', async () => {
    const { hints, taken } = hintsWith({ refusals: { one: 2 }, live: ['one', 'two'] });
    await hints.tell({ message, devices: [device('a', 'one'), device('b', 'two')], isRepeated: true }, signal);
    expect(taken).toEqual([
      ['two', { message, targets: [['b', 'web']], isRepeated: true }],
      ['one', { message, targets: [['a', 'web']], isRepeated: true }],
    ]);
  });

  it('are dropped where the connector has gone: its devices log in elsewhere', async () => {
    const { hints, taken } = hintsWith({ refusals: { gone: Infinity }, live: ['two'] });
    await hints.tell({ message, devices: [device('a', 'gone')], isRepeated: false }, signal);
    expect(taken).toEqual([]);
  });

  it('are given up when the process stops', async () => {
    const stop = new AbortController();
    const { hints } = hintsWith({ refusals: { one: Infinity }, live: ['one'] });
    const telling = hints.tell({ message, devices: [device('a', 'one')], isRepeated: false }, stop.signal);
    stop.abort();
    await expect(telling).resolves.toBeUndefined();
  });
});
