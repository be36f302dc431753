import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applicationsRpc, textMessageProvidersRpc, type TextMessageProviderKind } from '#contracts';
import { eventually, sentMessages, unique } from '#testing';
import { MailService } from './mail-service.js';
import { useReceivingServer } from './receiving-server.js';

const SECRET = 'a-secret-of-the-webhook';

describe('text messages, from the event to the provider', () => {
  const webhook = useReceivingServer();
  const twilio = useReceivingServer();
  let mail: MailService;
  let appId: string;
  const setProvider = async (kind: TextMessageProviderKind, fields: Record<string, string>) => {
    appId = unique('app');
    await mail.rpc.call(applicationsRpc.create, { id: appId, name: 'Shop' });
    await mail.rpc.call(textMessageProvidersRpc.set, { appId, kind, fields });
  };
  const setWebhook = () => setProvider('webhook', { url: `${webhook().url}/sms`, secret: SECRET });
  const idsAtWebhook = () => webhook().received.map(({ body }) => (JSON.parse(body) as { id: string }).id);

  beforeAll(async () => {
    const env = { GATEPOST_INTERNAL_NETWORKS: '127.0.0.1', GATEPOST_TWILIO_URL: twilio().url };
    mail = await MailService.start(1, env, 1);
  });
  afterAll(() => mail.stop());

  it('become files if the application has no provider', async () => {
    const { id, mobilePhoneNumber, code } = await mail.requestCode({ template: 'welcome' });
    await mail.untilRecorded(id, 'sent');
    expect(sentMessages(mail.server, mobilePhoneNumber)).toEqual([
      {
        id,
        appId: expect.any(String) as string,
        to: mobilePhoneNumber,
        text: '[Shop] 012345 is your verification code. It is valid for 10 minutes.',
        code,
        smsType: 'sms',
        template: 'welcome',
      },
    ]);
  });

  it('go to the webhook once it is set, not to files', async () => {
    await setWebhook();
    const { id, mobilePhoneNumber } = await mail.requestCode({ appId });
    expect(await mail.untilRecorded(id, 'sent')).toMatchObject({ attempts: 1, last_error: null });
    expect(idsAtWebhook()).toEqual([id]);
    expect(sentMessages(mail.server, mobilePhoneNumber)).toEqual([]);
  });

  it('that fail are sent again under the same id, and none twice', async () => {
    await setWebhook();
    webhook().answerWith(503);
    const { id } = await mail.requestCode({ appId });
    expect(await mail.untilRecorded(id, 'failed')).toMatchObject({
      last_error: 'the webhook responds with status 503',
    });
    webhook().answerWith(204);
    await mail.hurry();
    await mail.untilRecorded(id, 'sent');
    expect(idsAtWebhook()).toEqual([id, id]);
  });

  it('that wait are not sent any more once a later code is requested', async () => {
    await setWebhook();
    webhook().answerWith(503);
    const first = await mail.requestCode({ appId });
    await mail.untilRecorded(first.id, 'failed');
    webhook().answerWith(204);
    const expiresAt = new Date(Date.parse(first.expiresAt) + 10_000).toISOString();
    const second = await mail.requestCode({ appId, mobilePhoneNumber: first.mobilePhoneNumber, expiresAt });
    await mail.untilRecorded(second.id, 'sent');
    await mail.hurry();
    expect(await mail.untilRecorded(first.id, 'dropped')).toMatchObject({ last_error: 'a later code replaces it' });
    expect(idsAtWebhook()).toEqual([first.id, second.id]);
  });

  it('that are rejected permanently are dead at once', async () => {
    await setWebhook();
    webhook().answerWith(422);
    const { id } = await mail.requestCode({ appId });
    expect(await mail.untilRecorded(id, 'dead')).toMatchObject({ last_error: 'the webhook responds with status 422' });
    expect(idsAtWebhook()).toEqual([id]);
  });

  it('to a provider that hangs do not delay other applications', async () => {
    await setWebhook();
    webhook().answer = () => undefined;
    const hanging = await Promise.all(Array.from({ length: 10 }, () => mail.requestCode({ appId })));
    await eventually(() => {
      expect(webhook().received.length).toBe(hanging.length);
    });
    const { id } = await mail.requestCode();
    await mail.untilRecorded(id, 'sent');
    const ids = hanging.map((message) => message.id);
    const waiting = (await mail.deliveries()).filter((delivery) => ids.includes(delivery.id));
    expect(new Set(waiting.map(({ status }) => status))).toEqual(new Set(['queued']));
    const failed = await Promise.all(ids.map((hung) => mail.untilRecorded(hung, 'failed')));
    expect(failed.map((delivery) => delivery.last_error)).toContain('no answer within 5000 ms');
    const asked = webhook().received.length;
    const next = await mail.requestCode({ appId });
    const other = await mail.requestCode();
    await mail.untilRecorded(other.id, 'sent');
    expect(await mail.untilRecorded(next.id, 'queued')).toMatchObject({ attempts: 0, last_error: null });
    expect(webhook().received).toHaveLength(asked);
    webhook().answerWith(200);
    expect(await mail.untilRecorded(next.id, 'sent', 20_000)).toMatchObject({ attempts: 1 });
  });

  it('whose code has expired are dropped', async () => {
    await setWebhook();
    const { id } = await mail.requestCode({ appId, expiresAt: new Date(Date.now() - 1_000).toISOString() });
    await mail.untilRecorded(id, 'dropped');
    expect(idsAtWebhook()).not.toContain(id);
  });

  it('go over Twilio if it is set', async () => {
    await setProvider('twilio', { accountSid: `AC${'a1'.repeat(16)}`, authToken: 'auth-token', from: 'Shop' });
    twilio().answerWith(201, '{}');
    const { id, mobilePhoneNumber } = await mail.requestCode({ appId });
    await mail.untilRecorded(id, 'sent');
    expect(new URLSearchParams(twilio().received[0]!.body).get('To')).toBe(mobilePhoneNumber);
  });
});
