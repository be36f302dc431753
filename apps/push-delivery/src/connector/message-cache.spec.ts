import { describe, expect, it } from 'vitest';
import type { Clock } from '#bootstrap';
import type { PushMessage } from '#contracts';
import { appError } from '#errors';
import type { DeviceQueues } from '../device-queues/device-queues.js';
import { MessageCache } from './message-cache.js';

const NOW = new Date('2026-11-01T12:00:00Z');
const EXPIRES_AT = NOW.getTime() + 60_000;

const messageOf = (id: string): PushMessage => ({
  id,
  appId: 'app',
  order: 1,
  expiresAt: EXPIRES_AT,
  bodies: {},
  body: `"${id}"`,
});
const ref = (id: string, expiresAt = EXPIRES_AT) => ({ id, platform: 'web', expiresAt });
const clock: Clock = { now: () => NOW };

describe('the messages of a connector', () => {
  const reads: (readonly string[])[] = [];
  const cacheWith = (read: (id: string) => Promise<PushMessage | undefined>) => {
    reads.length = 0;
    const messages = (ids: readonly string[]) => {
      reads.push(ids);
      return ids.map(read);
    };
    return new MessageCache({ messages } as Partial<DeviceQueues> as DeviceQueues);
  };
  const idsOf = async (loaded: ReturnType<MessageCache['load']>) =>
    (await loaded).messages.map(({ message }) => message.id);

  it('are read together, each once for all devices', async () => {
    const cache = cacheWith((id) => Promise.resolve(messageOf(id)));
    const loads = [
      ['a', 'b'],
      ['b', 'c'],
    ].map((ids) => idsOf(cache.load(ids.map(ref), clock)));
    expect(await Promise.all(loads)).toEqual([
      ['a', 'b'],
      ['b', 'c'],
    ]);
    expect(await idsOf(cache.load([ref('c')], clock))).toEqual(['c']);
    expect(reads).toEqual([['a', 'b', 'c']]);
  });

  it('reach the devices whose messages are available while others are not', async () => {
    const cache = cacheWith((id) =>
      id === 'away' ? Promise.reject(appError('SERVICE_UNAVAILABLE')) : Promise.resolve(messageOf(id)),
    );
    const [healthy, affected] = [cache.load([ref('a')], clock), cache.load([ref('a'), ref('away')], clock)];
    await expect(affected).rejects.toThrow(appError('SERVICE_UNAVAILABLE'));
    expect(await idsOf(healthy)).toEqual(['a']);
  });

  it('are lost if they are missing long before they expire', async () => {
    const cache = cacheWith((id) => Promise.resolve(id === 'here' ? messageOf(id) : undefined));
    const lost = ref('lost', NOW.getTime() + 5_001);
    const loaded = await cache.load([lost, ref('expiring', NOW.getTime() + 5_000), ref('here')], clock);
    expect(loaded.messages.map(({ message }) => message.id)).toEqual(['here']);
    expect(loaded.lost).toEqual([lost]);
  });
});
