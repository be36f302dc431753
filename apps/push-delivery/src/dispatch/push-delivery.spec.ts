import { Logger } from '@nestjs/common';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PushMessage } from '#contracts';
import { appError } from '#errors';
import { type DirectMessages, MAX_MESSAGE_BYTES } from '#messaging';
import type { ConnectorNodes } from '../device-queues/connector-nodes.js';
import type { DeviceQueues } from '../device-queues/device-queues.js';
import { PushDelivery } from './push-delivery.js';

interface SentNotification {
  readonly wakeUps: readonly { readonly message: PushMessage; readonly targets: [string, string[]][] }[];
}

const message: PushMessage = { id: 'push', appId: 'app', order: 1, expiresAt: 0, bodies: {}, body: '{}' };
const device = (installationId: string, node: string, platform = 'web') => ({ installationId, platform, node });

/** Wake-ups over a broker that refuses a number of messages for each connector. */
function wakeUpsWith({ refusals = {}, live = [] }: { refusals?: Record<string, number>; live?: string[] }) {
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
  const delivery = new PushDelivery(
    {} as DeviceQueues,
    { send } as unknown as DirectMessages,
    connectors as unknown as ConnectorNodes,
  );
  return { delivery, taken };
}

describe('wake-up notifications', () => {
  const { signal } = new AbortController();
  const options = { isBulk: false, signal, shouldYield: () => false };
  const sent = { message, isRepeated: false, traceparent: undefined };
  const wakeUp = { ...sent, enqueuedAt: performance.now() };

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  it('are one direct message for each connector, with the devices of each platform', async () => {
    const { delivery, taken } = wakeUpsWith({});
    const devices = [device('a', 'one'), device('b', 'two'), device('c', 'one'), device('d', 'one', 'ios')];
    await delivery.wake([{ ...wakeUp, devices }], options);
    expect(taken).toEqual([
      [
        'one',
        {
          isBulk: false,
          wakeUps: [
            {
              ...sent,
              targets: [
                ['web', ['a', 'c']],
                ['ios', ['d']],
              ],
            },
          ],
        },
      ],
      ['two', { isBulk: false, wakeUps: [{ ...sent, targets: [['web', ['b']]] }] }],
    ]);
  });

  it('keep the order of several messages', async () => {
    const { delivery, taken } = wakeUpsWith({});
    const later = { ...wakeUp, message: { ...message, id: 'later' } };
    const devices = [device('a', 'one')];
    await delivery.wake(
      [
        { ...wakeUp, devices },
        { ...later, devices },
      ],
      { ...options, isBulk: true },
    );
    const targets = [['web', ['a']]];
    expect(taken).toEqual([
      [
        'one',
        {
          isBulk: true,
          wakeUps: [
            { ...sent, targets },
            { ...sent, message: later.message, targets },
          ],
        },
      ],
    ]);
  });

  it('have connectors ask the queues if they are late, because devices may have got the message since', async () => {
    const { delivery, taken } = wakeUpsWith({});
    const late = { ...wakeUp, enqueuedAt: performance.now() - 6_000 };
    await delivery.wake([{ ...late, devices: [device('a', 'one')] }], options);
    expect(taken).toEqual([
      ['one', { isBulk: false, wakeUps: [{ ...sent, isRepeated: true, targets: [['web', ['a']]] }] }],
    ]);
  });

  it('fit into messages of the broker, in order, however many and long the ids are', async () => {
    const { delivery, taken } = wakeUpsWith({});
    const longest = (index: number) => `${String(index).padStart(4, '0')}${'\u0001'.repeat(124)}`;
    const devices = Array.from({ length: 2_000 }, (_, index) => device(longest(index), 'one'));
    const pushes = Array.from({ length: 9 }, (_, place) => ({ ...message, id: `push-${place}` }));
    await delivery.wake(
      pushes.map((one) => ({ ...wakeUp, message: one, devices })),
      options,
    );
    const notifications = taken.map((one) => (one as [string, SentNotification])[1]);
    const sizes = notifications.map((one) => Buffer.byteLength(JSON.stringify(one)));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
    const all = notifications.flatMap((one) => one.wakeUps);
    expect(all.map((one) => one.message.id)).toEqual(pushes.map(({ id }) => id));
    expect(all.every(({ targets }) => targets[0]?.[1].length === 2_000)).toBe(true);
  });

  it('keep their order if the broker refuses one of several', async () => {
    const { delivery, taken } = wakeUpsWith({ refusals: { one: 1 }, live: ['one'] });
    const devices = Array.from({ length: 6_000 }, (_, index) => device(String(index), 'one'));
    const pushes = ['first', 'second', 'third'].map((id) => ({ ...wakeUp, message: { ...message, id }, devices }));
    await delivery.wake(pushes, options);
    const notifications = taken.map((one) => (one as [string, SentNotification])[1]);
    expect(notifications.map((one) => one.wakeUps.map((each) => each.message.id))).toEqual([
      ['first'],
      ['second'],
      ['third'],
    ]);
  });

  it('are repeated for a live connector that could not receive them, and for no other', async () => {
    const { delivery, taken } = wakeUpsWith({ refusals: { one: 2 }, live: ['one', 'two'] });
    const repeated = { ...wakeUp, isRepeated: true };
    await delivery.wake([{ ...repeated, devices: [device('a', 'one'), device('b', 'two')] }], options);
    expect(taken).toEqual([
      ['two', { isBulk: false, wakeUps: [{ ...sent, isRepeated: true, targets: [['web', ['b']]] }] }],
      ['one', { isBulk: false, wakeUps: [{ ...sent, isRepeated: true, targets: [['web', ['a']]] }] }],
    ]);
  });

  it('are dropped if the connector is gone: its devices log in elsewhere', async () => {
    const { delivery, taken } = wakeUpsWith({ refusals: { gone: Infinity }, live: ['two'] });
    await delivery.wake([{ ...wakeUp, devices: [device('a', 'gone')] }], options);
    expect(taken).toEqual([]);
  });

  it('fail once their caller gives way, so that it ends no push', async () => {
    const { delivery, taken } = wakeUpsWith({ refusals: { one: Infinity }, live: ['one', 'two'] });
    const devices = [device('a', 'one'), device('b', 'two')];
    let asked = 0;
    const shouldYield = () => (asked += 1) > 1;
    const sending = delivery.wake([{ ...wakeUp, devices }], { ...options, shouldYield });
    await expect(sending).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect([asked, taken.length]).toEqual([2, 1]);
  });

  it('are given up when the process stops', async () => {
    const stop = new AbortController();
    const { delivery } = wakeUpsWith({ refusals: { one: Infinity }, live: ['one'] });
    const devices = [device('a', 'one')];
    const sending = delivery.wake([{ ...wakeUp, devices }], { ...options, signal: stop.signal });
    stop.abort();
    await expect(sending).resolves.toBeUndefined();
  });
});
