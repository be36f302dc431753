import type { TestingModule } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApplicationDirectory } from '#admission';
import type { TextMessageProviderKind } from '#contracts';
import { Broadcasts, InProcessTransport, type RpcClient } from '#messaging';
import { Sealer } from '#security';
import { eventually, unique } from '#testing';
import { mailModule } from '../../test/mail-module.js';
import { MailDatabase } from '../mail.config.js';
import { TextMessageProvidersRepository } from './text-message-providers.repository.js';
import { TextMessageProvidersService } from './text-message-providers.service.js';

const DEPLOYMENT_SECRET = 'a secret of thirty-two characters, or more';
const HUSH = 'hush-hush-of-the-webhook';
const WEBHOOK = { url: 'https://shop.example/sms', secret: HUSH };
const SID = `AC${'a1'.repeat(16)}`;

describe('text message providers', () => {
  const accounts = {
    call: (_: unknown, { appId }: { appId: string }) =>
      Promise.resolve({ application: appId.startsWith('app') ? { id: appId } : null }),
  } as unknown as RpcClient;
  const applications = new ApplicationDirectory(accounts, new Broadcasts(new InProcessTransport()));
  let module: TestingModule;
  let database: MailDatabase;
  let service: TextMessageProvidersService;
  let appId: string;

  const newService = (secret = DEPLOYMENT_SECRET) =>
    new TextMessageProvidersService(module.get(TextMessageProvidersRepository), new Sealer(secret), applications);
  const set = (kind: TextMessageProviderKind, fields: Record<string, string>) => service.set({ appId, kind, fields });

  beforeAll(async () => {
    module = await mailModule(10, TextMessageProvidersRepository);
    database = module.get(MailDatabase);
  });
  afterAll(() => module.close());
  beforeEach(() => {
    [appId, service] = [unique('app'), newService()];
  });

  it('are found as they were set, and shown without their secrets', async () => {
    expect([await service.find(appId), await service.get(appId)]).toEqual([undefined, null]);
    const shown = { kind: 'webhook', shown: { url: WEBHOOK.url }, secrets: ['secret'] };
    expect(await set('webhook', WEBHOOK)).toEqual(shown);
    expect(await service.get(appId)).toEqual(shown);
    expect(await service.find(appId)).toEqual({ kind: 'webhook', credentials: WEBHOOK });
  });

  it('are sealed at rest with the id of their application', async () => {
    await set('webhook', WEBHOOK);
    const [row] = await database.query<{ t: string }>(
      'SELECT t::text FROM mail.text_message_providers t WHERE app_id = $1',
      [appId],
    );
    expect(row!.t).toContain(WEBHOOK.url);
    expect(row!.t).not.toContain(HUSH);
    const other = unique('other');
    await database.query(
      `INSERT INTO mail.text_message_providers (app_id, kind, shown, sealed_secrets)
       SELECT $2, kind, shown, sealed_secrets FROM mail.text_message_providers WHERE app_id = $1`,
      [appId, other],
    );
    await expect(service.find(other)).rejects.toThrow(
      `the text message provider of application ${other} cannot be used`,
    );
    await database.query('DELETE FROM mail.text_message_providers WHERE app_id = $1', [other]);
  });

  it('are replaced as a whole, also by concurrent changes', async () => {
    await Promise.all(
      Array.from({ length: 10 }, (_, n) => set('webhook', { url: `https://shop.example/${n}`, secret: `${HUSH}${n}` })),
    );
    const found = await newService().find(appId);
    if (found?.kind !== 'webhook') throw new Error('no webhook');
    expect(found.credentials.secret.replace(HUSH, '')).toBe(found.credentials.url.replace('https://shop.example/', ''));
    await set('twilio', { accountSid: SID, authToken: 'token', from: 'Shop' });
    expect(await service.find(appId)).toMatchObject({ kind: 'twilio', credentials: { from: 'Shop' } });
  });

  it.each([
    ['webhook', { url: 'ftp://shop.example', secret: HUSH }, /^url: must be a URL/],
    ['webhook', { url: 'https://user:pw@shop.example/', secret: HUSH }, /^url: must be a URL .* without a user/],
    ['webhook', { url: 'https://shop.example/#x', secret: HUSH }, /^url: must be a URL/],
    ['webhook', { url: 'https://', secret: HUSH }, /^url: must be a URL/],
    ['webhook', { url: WEBHOOK.url, secret: 'short' }, /^secret: must have at least 16 characters$/],
    ['webhook', { url: WEBHOOK.url }, /^secret: is missing$/],
    ['webhook', { ...WEBHOOK, token: 'x' }, /^webhook has no field "token"\. Fields: url, secret\.$/],
    ['twilio', { accountSid: 'AC1', authToken: 'token', from: 'Shop' }, /^accountSid: must be AC and 32/],
    ['twilio', { accountSid: SID, authToken: 'token' }, /^Either from or messagingServiceSid must be given\.$/],
  ] as const)('%s with %j is refused by the name of its field', async (kind, fields, message) => {
    await expect(set(kind, fields)).rejects.toMatchObject({
      errorName: 'INCORRECT_TYPE',
      message: expect.stringMatching(message) as string,
    });
    expect(await service.get(appId)).toBeNull();
  });

  it('cannot be set for an application that does not exist', async () => {
    appId = unique('unknown');
    await expect(set('webhook', WEBHOOK)).rejects.toMatchObject({
      errorName: 'NOT_FOUND',
      message: `There is no application "${appId}".`,
    });
    expect(await service.get(appId)).toBeNull();
  });

  it('are removed at once here, and within a second in other processes', async () => {
    await set('webhook', WEBHOOK);
    const elsewhere = newService();
    expect((await elsewhere.find(appId))?.kind).toBe('webhook');
    await service.remove(appId);
    expect(await service.find(appId)).toBeUndefined();
    await eventually(async () => {
      expect(await elsewhere.find(appId)).toBeUndefined();
    }, 2_000);
    await expect(service.remove(appId)).rejects.toMatchObject({ errorName: 'NOT_FOUND', status: 404 });
  });

  it('that were sealed with another secret, or have an unknown kind, are an error, never "none"', async () => {
    await set('webhook', WEBHOOK);
    const stranger = newService('another secret of thirty-two characters');
    await expect(stranger.find(appId)).rejects.toThrow(/GATEPOST_SECRET/);
    await expect(stranger.get(appId)).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    await expect(stranger.assertSecretFits()).rejects.toThrow(/GATEPOST_SECRET/);
    await service.assertSecretFits();
    await database.query("UPDATE mail.text_message_providers SET kind = 'pigeon' WHERE app_id = $1", [appId]);
    await expect(newService().find(appId)).rejects.toThrow(/they are not settings of a provider "pigeon"/);
  });
});
