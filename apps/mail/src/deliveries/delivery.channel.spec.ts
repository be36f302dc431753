import { describe, expect, it } from 'vitest';
import { appError } from '#errors';
import { ChannelUnavailable, DeliveryRefused, settlementOf } from './delivery.channel.js';

const row = { id: 'id', lease: 'lease', attempts: 1 };

describe('an attempt', () => {
  it.each([
    ['that succeeds is sent', undefined, { outcome: 'sent', error: null, delaySeconds: 0 }],
    [
      'that is rejected permanently is dead',
      new DeliveryRefused('550 no'),
      { outcome: 'dead', error: '550 no', delaySeconds: 0 },
    ],
    [
      'does not count while the server is unavailable',
      new ChannelUnavailable('gone'),
      { outcome: 'released', delaySeconds: 0 },
    ],
    [
      'does not count while the database is unavailable',
      appError('SERVICE_UNAVAILABLE'),
      { outcome: 'released', delaySeconds: 0 },
    ],
    ['that fails otherwise is retried later', new Error('450'), { outcome: 'failed', error: '450', delaySeconds: 30 }],
    ['may fail with any value', 'a text', { outcome: 'failed', error: 'a text', delaySeconds: 30 }],
  ])('%s', (_, thrown, expected) => {
    expect(settlementOf(row, thrown)).toMatchObject({ id: 'id', lease: 'lease', ...expected });
  });
});
