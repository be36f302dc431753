import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OutboundError } from '#outbound';
import { DeliveryRefused } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.rules.js';
import { FileTextMessageProvider, ProviderHttp, SmsChannel, TwilioProvider, WebhookProvider } from './sms.channel.js';
import type { TextMessageProvidersService } from './text-message-providers.service.js';

const message = {
  id: 'b6f0f6a2-6a34-4a53-9a57-2f2b0e0f7a11',
  appId: 'app',
  to: '+8613812345678',
  text: '[Shop] 012345 is your verification code. It is valid for 10 minutes.',
  code: '012345',
  smsType: 'sms',
} as const;

const delivery: Omit<Delivery, 'id'> = {
  appId: message.appId,
  kind: 'smsCode',
  recipient: message.to,
  content: { text: message.text, code: message.code, smsType: message.smsType },
  attempts: 0,
  createdAt: new Date(),
  expiresAt: new Date(),
};

describe('FileTextMessageProvider', () => {
  let data: string;
  let folder: string;
  let shown: string[];
  let provider: FileTextMessageProvider;
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'gatepost-sms-'));
    folder = join(data, 'data', 'outbox', 'sms');
    shown = [];
    provider = new FileTextMessageProvider({
      textMessageFolder: folder,
      show: (line) => shown.push(line),
    });
  });
  afterEach(() => {
    rmSync(data, { recursive: true });
  });

  it('writes a file and folders that only this user can access, and prints the path', async () => {
    await provider.send(message);
    const file = join(folder, `${message.id}.json`);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(message);
    expect([modeOf(file), modeOf(folder), modeOf(dirname(folder))]).toEqual([0o600, 0o700, 0o700]);
    expect(shown).toEqual([`Text message to +8613812345678, code 012345: ${file}`]);
  });

  it('overwrites the file when the message is sent again, also concurrently', async () => {
    await provider.send(message);
    await provider.send(message);
    expect(readdirSync(folder)).toEqual([`${message.id}.json`]);
    await Promise.allSettled([provider.send(message), provider.send(message)]);
    expect(readdirSync(folder)).toEqual([`${message.id}.json`]);
  });

  it('fails if it cannot write, and prints nothing', async () => {
    writeFileSync(join(data, 'data'), 'no folder');
    await expect(provider.send(message)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(shown).toEqual([]);
  });
});

describe('SmsChannel', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ['accepts', () => Promise.resolve()],
    ['refuses', () => Promise.reject(new DeliveryRefused('invalid number'))],
  ])('probes a provider that does not respond with one message at a time, until it %s one', async (_, respond) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const webhook = { send: () => Promise.reject(new OutboundError('no answer')) } as unknown as WebhookProvider;
    const settings = { kind: 'webhook', credentials: {} };
    const providers = { find: () => Promise.resolve(settings) } as unknown as TextMessageProvidersService;
    const channel = new SmsChannel(providers, {} as FileTextMessageProvider, webhook, {} as TwilioProvider);
    const sendAll = (count: number) =>
      Promise.allSettled(Array.from({ length: count }, (_, index) => channel.send({ ...delivery, id: String(index) })));
    const state = () => ({ paused: channel.pausedApplications(), probed: channel.probedApplications() });

    await sendAll(2);
    expect(state()).toEqual({ paused: [], probed: [] });
    await sendAll(1);
    expect(state()).toEqual({ paused: ['app'], probed: [] });
    vi.advanceTimersByTime(5_000);
    expect(state()).toEqual({ paused: [], probed: ['app'] });
    const probe = sendAll(1);
    expect(state()).toEqual({ paused: ['app'], probed: [] });
    await probe;
    vi.advanceTimersByTime(5_000);
    vi.spyOn(webhook, 'send').mockImplementation(respond);
    await sendAll(1);
    expect(state()).toEqual({ paused: [], probed: [] });
  });

  it('sends all of its messages at once to a slow webhook, each one once', async () => {
    const arrived: ServerResponse[] = [];
    const webhook = createServer((request, response) => {
      request.resume().on('end', () => arrived.push(response));
    });
    webhook.listen(0, '127.0.0.1');
    await once(webhook, 'listening');
    const { port } = webhook.address() as AddressInfo;
    const http = new ProviderHttp({ internalNetworks: ['127.0.0.1'] });
    const settings = { kind: 'webhook', credentials: { url: `http://127.0.0.1:${port}/`, secret: 'a secret' } };
    const channel = new SmsChannel(
      { find: () => Promise.resolve(settings) } as unknown as TextMessageProvidersService,
      new FileTextMessageProvider({ textMessageFolder: '/nowhere', show: () => undefined }),
      new WebhookProvider(http),
      new TwilioProvider(http, { twilioUrl: 'https://twilio.invalid' }),
    );
    const sends = Promise.allSettled(
      Array.from({ length: channel.parallel }, (_, index) => channel.send({ ...delivery, id: String(index) })),
    );
    try {
      // None is answered before all have arrived.
      await expect.poll(() => arrived.length, { timeout: 4_000 }).toBe(channel.parallel);
      for (const response of arrived) response.end();
      expect((await sends).filter(({ status }) => status === 'rejected')).toEqual([]);
      expect(arrived.length).toBe(channel.parallel);
    } finally {
      await http.onApplicationShutdown();
      await sends;
      webhook.close();
    }
  });
});
