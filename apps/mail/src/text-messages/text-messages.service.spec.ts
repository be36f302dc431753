import { Logger } from '@nestjs/common';
import { beforeAll, describe, expect, it } from 'vitest';
import { sealedCodeContext, type TextMessageRequest } from '#contracts';
import { Sealer } from '#sealing';
import { TextMessageProvider, type TextMessage } from './text-message.provider.js';
import { TextMessagesService } from './text-messages.service.js';

const ID = 'b6f0f6a2-6a34-4a53-9a57-2f2b0e0f7a11';
const NOW = new Date('2026-01-01T00:00:00.000Z');
const sealer = new Sealer('a secret of thirty-two characters, or more');
const to = { appId: 'app', mobilePhoneNumber: '+8613812345678' };

class FakeProvider extends TextMessageProvider {
  readonly sent: TextMessage[] = [];
  problem: Error | undefined;

  send(message: TextMessage): Promise<void> {
    if (this.problem !== undefined) return Promise.reject(this.problem);
    this.sent.push(message);
    return Promise.resolve();
  }
}

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

describe('TextMessagesService', () => {
  const provider = new FakeProvider();
  const messages = new TextMessagesService(provider, sealer);

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  it('opens the code and hands the message to the provider, under the id of the event', async () => {
    await messages.send(ID, request({ template: 'welcome', sign: 'us', variables: { color: 'red' } }), NOW);
    expect(provider.sent.splice(0)).toEqual([
      {
        id: ID,
        appId: 'app',
        to: '+8613812345678',
        text: '[Shop] 012345 is your verification code. It is valid for 10 minutes.',
        code: '012345',
        smsType: 'sms',
        template: 'welcome',
        sign: 'us',
        variables: { color: 'red' },
      },
    ]);
  });

  it('sends no code that is dead already', async () => {
    await messages.send(ID, request(), new Date('2026-01-01T00:10:00.000Z'));
    expect(provider.sent).toEqual([]);
  });

  it('opens no code beside another number, and none that was sealed with another secret', async () => {
    await expect(messages.send(ID, request({ mobilePhoneNumber: '+8613812345679' }), NOW)).rejects.toThrow();
    const foreign = new Sealer('another secret of thirty-two characters').seal('012345', sealedCodeContext(to));
    await expect(messages.send(ID, request({ sealedCode: foreign }), NOW)).rejects.toThrow(/another GATEPOST_SECRET/);
    expect(provider.sent).toEqual([]);
  });

  it('fails where the provider fails, so that the event comes again', async () => {
    provider.problem = new Error('no space left');
    await expect(messages.send(ID, request(), NOW)).rejects.toThrow('no space left');
  });
});
