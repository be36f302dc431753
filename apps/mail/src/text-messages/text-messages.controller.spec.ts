import { describe, expect, it } from 'vitest';
import { CODE_PURPOSES, sealedCodeContext, type TextMessageRequest } from '#contracts';
import type { Inbox, Tx } from '#database';
import { Sealer } from '#security';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { NewDelivery } from '../deliveries/delivery.rules.js';
import { TextMessagesController, textOf } from './text-messages.controller.js';

const ID = 'b6f0f6a2-6a34-4a53-9a57-2f2b0e0f7a11';
const sealer = new Sealer('a secret of thirty-two characters, or more');
const to = { appId: 'app', mobilePhoneNumber: '+8613812345678' };

function request(changes: Partial<TextMessageRequest> = {}): TextMessageRequest {
  return {
    ...to,
    sealedCode: sealer.seal('012345', sealedCodeContext(to)),
    purpose: 'generic',
    ttlMinutes: 10,
    expiresAt: '2026-01-01T00:10:00.000Z',
    smsType: 'sms',
    name: 'Shop',
    ...changes,
  };
}

describe('TextMessagesController', () => {
  const handled = new Set<string>();
  const queued: NewDelivery[] = [];
  const inbox = {
    once: async (id: string, work: (tx: Tx) => Promise<void>) => {
      if (!handled.has(id)) await work({} as Tx);
      handled.add(id);
    },
  } as unknown as Inbox;
  const queue = {
    addCode: (_: Tx, delivery: NewDelivery) => Promise.resolve(queued.push(delivery)),
  } as unknown as DeliveriesService;
  const messages = new TextMessagesController(inbox, queue, sealer);

  it('opens the code and queues the message once, under the id of the event', async () => {
    const options = { template: 'welcome', sign: 'us', variables: { color: 'red' } };
    await messages.request({ id: ID, payload: request(options) });
    await messages.request({ id: ID, payload: request(options) });
    expect(queued.splice(0)).toEqual([
      {
        id: ID,
        appId: 'app',
        channel: 'sms',
        kind: 'generic',
        recipient: '+8613812345678',
        userId: null,
        asOf: new Date('2026-01-01T00:00:00.000Z'),
        content: {
          text: '[Shop] 012345 is your verification code. It is valid for 10 minutes.',
          code: '012345',
          smsType: 'sms',
          ...options,
        },
        expiresAt: new Date('2026-01-01T00:10:00.000Z'),
      },
    ]);
  });

  it('rejects a sealed code for another number, and one that was sealed with another secret', async () => {
    await expect(
      messages.request({ id: ID, payload: request({ mobilePhoneNumber: '+8613812345679' }) }),
    ).rejects.toThrow();
    const foreign = new Sealer('another secret of thirty-two characters').seal('012345', sealedCodeContext(to));
    await expect(messages.request({ id: ID, payload: request({ sealedCode: foreign }) })).rejects.toThrow(
      /another GATEPOST_SECRET/,
    );
    expect(queued).toEqual([]);
  });
});

describe('textOf', () => {
  it.each([
    ['generic', undefined, 10, '[Shop] 012345 is your verification code. It is valid for 10 minutes.'],
    ['generic', 'a payment', 1, '[Shop] 012345 is your verification code for a payment. It is valid for 1 minute.'],
    ['reset', undefined, 30, '[Shop] 012345 is your code to reset your password. It is valid for 30 minutes.'],
  ] as const)('says for %s (%s, %i minutes): %s', (purpose, op, ttlMinutes, text) => {
    expect(textOf({ name: 'Shop', purpose, ttlMinutes, ...(op === undefined ? {} : { op }) }, '012345')).toBe(text);
  });

  it('leads to no page that a client names', () => {
    const [name, op] = ['PayPal: unlock at https://evil.example/x', 'www.evil.example\u202e'];
    const text = textOf({ name, op, purpose: 'generic', ttlMinutes: 10 }, '012345');
    expect(text).toContain('https:\u200b//evil.\u200bexample/x');
    expect(text).not.toMatch(/\w\.\w|:\/|\u202e/);
  });

  it('has a different text for every purpose, so that users recognize a code for another purpose', () => {
    const texts = CODE_PURPOSES.map((purpose) => textOf({ name: 'Shop', purpose, ttlMinutes: 10 }, '012345'));
    expect(new Set(texts).size).toBe(CODE_PURPOSES.length);
  });
});
