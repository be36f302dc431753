import { Logger } from '@nestjs/common';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PushMessage } from '#contracts';
import { appError } from '#errors';
import type { DirectMessages } from '#messaging';
import type { ConnectorNodes } from '../device-queues/connector-nodes.js';
import { WakeUpNotifications } from './push-delivery.js';

const message: PushMessage = { id: 'push', appId: 'app', order: 1, expiresAt: 0, bodies: {}, body: '{}' };
const device = (installationId: string, node: string) => ({ installationId, platform: 'web', node });

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
  const wakeUps = new WakeUpNotifications(
    { send } as unknown as DirectMessages,
    connectors as unknown as ConnectorNodes,
  );
  return { wakeUps, taken };
}

describe('wake-up notifications', () => {
  const { signal } = new AbortController();
  const options = { isBulk: false, signal };
  const wakeUp = { message, isRepeated: false, traceparent: undefined };

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  it('are one direct message for each connector', async () => {
    const { wakeUps, taken } = wakeUpsWith({});
    const devices = [device('a', 'one'), device('b', 'two'), device('c', 'one')];
    await wakeUps.send([{ ...wakeUp, devices }], options);
    const pairs = (...ids: string[]) => ids.map((id) => [id, 'web']);
    expect(taken).toEqual([
      ['one', { isBulk: false, wakeUps: [{ ...wakeUp, targets: pairs('a', 'c') }] }],
      ['two', { isBulk: false, wakeUps: [{ ...wakeUp, targets: pairs('b') }] }],
    ]);
  });

  it('keep the order of several messages', async () => {
    const { wakeUps, taken } = wakeUpsWith({});
    const later = { ...wakeUp, message: { ...message, id: 'later' } };
    const devices = [device('a', 'one')];
    await wakeUps.send(
      [
        { ...wakeUp, devices },
        { ...later, devices },
      ],
      { ...options, isBulk: true },
    );
    const targets = [['a', 'web']];
    expect(taken).toEqual([
      [
        'one',
        {
          isBulk: true,
          wakeUps: [
            { ...wakeUp, targets },
            { ...later, targets },
          ],
        },
      ],
    ]);
  });

  it('are repeated for a live connector that could not receive them, and for no other', async () => {
    const { wakeUps, taken } = wakeUpsWith({ refusals: { one: 2 }, live: ['one', 'two'] });
    const repeated = { ...wakeUp, isRepeated: true };
    await wakeUps.send([{ ...repeated, devices: [device('a', 'one'), device('b', 'two')] }], options);
    expect(taken).toEqual([
      ['two', { isBulk: false, wakeUps: [{ ...repeated, targets: [['b', 'web']] }] }],
      ['one', { isBulk: false, wakeUps: [{ ...repeated, targets: [['a', 'web']] }] }],
    ]);
  });

  it('are dropped if the connector is gone: its devices log in elsewhere', async () => {
    const { wakeUps, taken } = wakeUpsWith({ refusals: { gone: Infinity }, live: ['two'] });
    await wakeUps.send([{ ...wakeUp, devices: [device('a', 'gone')] }], options);
    expect(taken).toEqual([]);
  });

  it('are given up when the process stops', async () => {
    const stop = new AbortController();
    const { wakeUps } = wakeUpsWith({ refusals: { one: Infinity }, live: ['one'] });
    const devices = [device('a', 'one')];
    const sending = wakeUps.send([{ ...wakeUp, devices }], { isBulk: false, signal: stop.signal });
    stop.abort();
    await expect(sending).resolves.toBeUndefined();
  });
});
