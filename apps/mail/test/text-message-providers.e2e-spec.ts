import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeliveryRefused } from '../src/deliveries/delivery.channel.js';
import { ProviderHttp, TwilioProvider, WebhookProvider } from '../src/text-messages/sms.channel.js';
import type { TextMessage } from '../src/text-messages/sms.channel.js';
import { useReceivingServer } from './receiving-server.js';

const MESSAGE: TextMessage = {
  id: 'b6f0f6a2-6a34-4a53-9a57-2f2b0e0f7a11',
  appId: 'app',
  to: '+8613812345678',
  text: '[Shop & Co] 012345 is your login code. 店',
  code: '012345',
  smsType: 'sms',
  template: 'welcome',
  variables: { color: 'red' },
};
const SECRET = 'a-secret-of-the-webhook';

/** @returns the error of a send. @throws Error if there is none, or if it contains the number, the text or a secret */
async function failureOf(sending: Promise<void>): Promise<Error> {
  const error = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  if (error === undefined) throw new Error('it was sent');
  for (const secret of [MESSAGE.code, MESSAGE.to, SECRET, 'auth-token']) expect(error.message).not.toContain(secret);
  return error;
}

describe('a webhook', () => {
  const server = useReceivingServer();
  const http = new ProviderHttp({ internalNetworks: ['127.0.0.1'] });
  const webhook = new WebhookProvider(http);
  const send = (url = `${server().url}/sms?a=1`) => webhook.send(MESSAGE, { url, secret: SECRET });

  afterAll(() => http.onApplicationShutdown());

  it('gets the message by POST, with a signature that proves body and time', async () => {
    const before = Math.floor(Date.now() / 1_000);
    await send();
    const [request] = server().received;
    expect(request).toMatchObject({ method: 'POST', path: '/sms?a=1' });
    expect(JSON.parse(request!.body)).toEqual(MESSAGE);
    const timestamp = String(request!.headers['x-gatepost-timestamp']);
    expect(Number(timestamp)).toBeGreaterThanOrEqual(before);
    expect(request!.headers['content-type']).toBe('application/json');
    expect(request!.headers['x-gatepost-signature']).toBe(
      `v1=${createHmac('sha256', SECRET).update(`${timestamp}.${request!.body}`).digest('hex')}`,
    );
  });

  it.each([200, 201, 204])('that responds with %i has accepted it', async (status) => {
    server().answerWith(status);
    await send();
  });

  it.each([400, 401, 404, 410, 422])('that responds with %i rejects it permanently', async (status) => {
    server().answerWith(status, MESSAGE.code);
    expect(await failureOf(send())).toMatchObject({
      name: 'DeliveryRefused',
      message: `the webhook responds with status ${status}`,
    });
  });

  it.each([408, 429, 500, 503])('that responds with %i gets it again later', async (status) => {
    server().answerWith(status);
    expect(await failureOf(send())).not.toBeInstanceOf(DeliveryRefused);
  });

  it('that redirects is not followed', async () => {
    server().answerWith(307, '', { location: `${server().url}/elsewhere` });
    expect((await failureOf(send())).message).toBe('the webhook responds with status 307');
    expect(server().received).toHaveLength(1);
  });

  it('that hangs times out after five seconds', async () => {
    server().answer = () => undefined;
    const startedAt = performance.now();
    expect((await failureOf(send())).message).toBe('no answer within 5000 ms');
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('that closes the connection, or responds without end, gets it again later', async () => {
    server().answer = (response) => response.destroy();
    expect((await failureOf(send())).message).toBe('UND_ERR_SOCKET');
    server().answerWith(200, 'x'.repeat(100_000));
    expect((await failureOf(send())).message).toBe('UND_ERR_RES_EXCEEDED_MAX_SIZE');
  });

  it('that is unreachable gets it again later', async () => {
    expect((await failureOf(send('http://127.0.0.1:1/'))).message).toBe('ECONNREFUSED');
  });

  it('in an internal network is not reached', async () => {
    const closed = new ProviderHttp({ internalNetworks: [] });
    const { port } = new URL(server().url);
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254']) {
      const sending = new WebhookProvider(closed).send(MESSAGE, { url: `http://${host}:${port}/`, secret: SECRET });
      expect((await failureOf(sending)).message).toBe('INTERNAL_ADDRESS');
    }
    await closed.onApplicationShutdown();
    expect(server().received).toEqual([]);
  });
});

describe('Twilio', () => {
  const server = useReceivingServer();
  const http = new ProviderHttp({ internalNetworks: ['127.0.0.1'] });
  const sid = `AC${'a1'.repeat(16)}`;
  const account = { accountSid: sid, authToken: 'auth-token' };
  let twilio: TwilioProvider;
  const send = (sender: { from: string } | { messagingServiceSid: string } = { from: '+15550006' }) =>
    twilio.send(MESSAGE, { ...account, ...sender });
  const refuse = (status: number, code: number) => {
    server().answerWith(status, JSON.stringify({ code, status, message: `The number ${MESSAGE.to} is not valid` }));
  };

  beforeAll(() => {
    twilio = new TwilioProvider(http, { twilioUrl: server().url });
  });
  afterAll(() => http.onApplicationShutdown());

  it('gets the message in the format of its API', async () => {
    server().answerWith(201, JSON.stringify({ sid: 'SM1', status: 'queued' }));
    await send();
    const [request] = server().received;
    expect(request).toMatchObject({ method: 'POST', path: `/2010-04-01/Accounts/${sid}/Messages.json` });
    expect(request!.headers.authorization).toBe(`Basic ${Buffer.from(`${sid}:auth-token`).toString('base64')}`);
    expect(Object.fromEntries(new URLSearchParams(request!.body))).toEqual({
      To: MESSAGE.to,
      From: '+15550006',
      Body: MESSAGE.text,
    });
  });

  it('sends over a messaging service instead of a number', async () => {
    const messagingServiceSid = `MG${'b2'.repeat(16)}`;
    server().answerWith(201, '{}');
    await send({ messagingServiceSid });
    const form = Object.fromEntries(new URLSearchParams(server().received[0]!.body));
    expect(form).toEqual({ To: MESSAGE.to, MessagingServiceSid: messagingServiceSid, Body: MESSAGE.text });
  });

  it.each([21_211, 21_610, 21_614])('that responds with 400 and error %i rejects it permanently', async (code) => {
    refuse(400, code);
    expect(await failureOf(send())).toMatchObject({
      name: 'DeliveryRefused',
      message: `Twilio responds with status 400, error ${code}`,
    });
  });

  it.each([
    [429, 20_429],
    [400, 20_429],
    [401, 20_003],
    [500, 20_500],
    [503, 20_503],
  ])('that answers %i with %i is asked again later', async (status, code) => {
    refuse(status, code);
    const error = await failureOf(send());
    expect(error).not.toBeInstanceOf(DeliveryRefused);
    expect(error.message).toBe(`Twilio responds with status ${status}, error ${code}`);
  });

  it.each(['<html>', '[]', '', '{"code":"x"}'])(
    'that responds with 400 and body %j gets it again later',
    async (body) => {
      server().answerWith(400, body);
      const error = await failureOf(send());
      expect(error).not.toBeInstanceOf(DeliveryRefused);
      expect(error.message).toBe('Twilio responds with status 400');
    },
  );
});
