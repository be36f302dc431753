import { generateKeyPairSync } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApplicationDirectory } from '#admission';
import type { PlatformKind } from '#contracts';
import { DatabaseModule, migrate } from '#database';
import { Broadcasts, InProcessTransport, type RpcClient } from '#messaging';
import { Metrics, ObservabilityModule } from '#observability';
import { Sealer } from '#security';
import { eventually, newDatabase, unique } from '#testing';
import { AuthLinkingDatabase, authLinkingDatabase } from '../auth-linking.database.js';
import { CredentialsRepository } from './credentials.repository.js';
import { CredentialsService } from './credentials.service.js';

const SECRET = 'a secret of thirty-two characters, or more';
const APP_SECRET = 'hush-hush-of-the-mini-program';

describe('the platform credentials of applications', () => {
  const broadcasts = new Broadcasts(new InProcessTransport());
  const accounts = {
    call: (_: unknown, { appId }: { appId: string }) =>
      Promise.resolve({ application: appId.startsWith('app') ? { id: appId } : null }),
  } as unknown as RpcClient;
  const applications = new ApplicationDirectory(accounts, broadcasts);
  let module: TestingModule;
  let database: AuthLinkingDatabase;
  let service: CredentialsService;
  let appId: string;

  const newService = (secret = SECRET, channel = broadcasts) =>
    new CredentialsService(module.get(CredentialsRepository), new Sealer(secret), applications, channel);
  const set = (platform: string, fields: Record<string, string>, kind = platform as PlatformKind) =>
    service.set({ appId, platform, kind, fields });
  const dump = async () =>
    JSON.stringify(await database.query('SELECT t::text FROM auth_linking.platform_credentials t'));

  beforeAll(async () => {
    const options = authLinkingDatabase(await newDatabase(), 10);
    await migrate(options);
    module = await Test.createTestingModule({
      imports: [ObservabilityModule.forRoot(new Metrics()), DatabaseModule.forRoot(options, AuthLinkingDatabase)],
      providers: [CredentialsRepository],
    }).compile();
    database = module.get(AuthLinkingDatabase);
  });
  afterAll(() => module.close());
  beforeEach(() => {
    [appId, service] = [unique('app'), newService()];
  });

  it('are found as they were set', async () => {
    await set('lc_weapp', { appId: 'wx1', appSecret: APP_SECRET });
    expect(await service.find(appId, 'lc_weapp', 'lc_weapp')).toEqual({ appId: 'wx1', appSecret: APP_SECRET });
    expect(await service.find(appId, 'weixin', 'weixin')).toBeUndefined();
  });

  it('are sealed at rest: the table contains no secret in plain text', async () => {
    await set('lc_weapp', { appId: 'wx-in-the-open', appSecret: APP_SECRET });
    expect(await dump()).toContain('wx-in-the-open');
    expect(await dump()).not.toContain(APP_SECRET);
    expect(await dump()).not.toContain(Buffer.from(APP_SECRET).toString('base64url').slice(4, -4));
  });

  it('are shown to operators without their secrets', async () => {
    const shown = { platform: 'lc_weapp', kind: 'lc_weapp', shown: { appId: 'wx1' }, secrets: ['appSecret'] };
    expect(await set('lc_weapp', { appId: 'wx1', appSecret: APP_SECRET })).toEqual(shown);
    expect(await service.list(appId)).toEqual([shown]);
  });

  it('are replaced as a whole', async () => {
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    await set('lc_apple', { clientId: 'com.shop', teamId: 'T', keyId: 'K', privateKey });
    await set('lc_apple', { clientId: 'com.shop,com.shop.web' });
    expect(await service.find(appId, 'lc_apple', 'lc_apple')).toEqual({ clientId: 'com.shop,com.shop.web' });
    expect(await service.list(appId)).toMatchObject([{ shown: { clientId: 'com.shop,com.shop.web' }, secrets: [] }]);
  });

  it('are never a mixture of concurrent changes', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => set('lc_qqapp', { appId: `id${n}`, appSecret: `secret${n}` })),
    );
    const found = await service.find(appId, 'lc_qqapp', 'lc_qqapp');
    expect(found?.appSecret.replace('secret', '')).toBe(found?.appId.replace('id', ''));
    expect(await service.list(appId)).toHaveLength(1);
  });

  it('belong to one application', async () => {
    await set('weixin', { appId: 'wx1' });
    const other = unique('app');
    expect(await service.find(other, 'weixin', 'weixin')).toBeUndefined();
    expect(await service.list(other)).toEqual([]);
    await expect(service.remove(other, 'weixin')).rejects.toMatchObject({ errorName: 'NOT_FOUND' });
    expect(await service.find(appId, 'weixin', 'weixin')).toEqual({ appId: 'wx1' });
  });

  it('cannot be opened in the row of another application or platform', async () => {
    await set('lc_weapp', { appId: 'wx1', appSecret: APP_SECRET });
    const other = unique('app');
    await database.query(
      `INSERT INTO auth_linking.platform_credentials (app_id, platform, kind, shown, sealed_secrets)
       SELECT $2, platform, kind, shown, sealed_secrets FROM auth_linking.platform_credentials WHERE app_id = $1`,
      [appId, other],
    );
    await expect(service.find(other, 'lc_weapp', 'lc_weapp')).rejects.toMatchObject({ status: 503 });
  });

  it('of a key take precedence over those of its kind', async () => {
    await set('weixin', { appId: 'of the kind' });
    expect(await service.find(appId, 'weixin_tv', 'weixin')).toEqual({ appId: 'of the kind' });
    await set('weixin_tv', { appId: 'of the key' }, 'weixin');
    expect(await service.find(appId, 'weixin_tv', 'weixin')).toEqual({ appId: 'of the key' });
    expect(await service.find(appId, 'weixin', 'weixin')).toEqual({ appId: 'of the kind' });
  });

  it('of one kind do not verify another kind: the key is rejected, not treated as one without credentials', async () => {
    await set('shop_login', { appId: 'wx1' }, 'weixin');
    await expect(service.find(appId, 'shop_login', 'qq')).rejects.toMatchObject({ errorName: 'INVALID_IDENTITY' });
  });

  it('are gone after a removal, which fails the second time', async () => {
    await set('weixin', { appId: 'wx1' });
    await service.remove(appId, 'weixin');
    expect(await service.find(appId, 'weixin', 'weixin')).toBeUndefined();
    await expect(service.remove(appId, 'weixin')).rejects.toMatchObject({ errorName: 'NOT_FOUND', status: 404 });
  });

  it('apply in other processes at once with the broadcast, and within a second without it', async () => {
    const [connected, isolated] = [newService(), newService(SECRET, new Broadcasts(new InProcessTransport()))];
    const idAt = async (process: CredentialsService) => (await process.find(appId, 'weixin', 'weixin'))?.appId;
    expect([await idAt(connected), await idAt(isolated)]).toEqual([undefined, undefined]);
    const setAndBroadcast = async (id: string) => {
      await set('weixin', { appId: id });
      await new Promise(setImmediate);
    };
    await setAndBroadcast('wx1');
    expect(await idAt(connected)).toBe('wx1');
    await eventually(async () => {
      expect(await idAt(isolated)).toBe('wx1');
    }, 2_000);
    await setAndBroadcast('wx2');
    expect([await idAt(connected), await idAt(isolated)]).toEqual(['wx2', 'wx1']);
  });

  it('that were sealed with another secret are an error that names it, never "none"', async () => {
    await set('weixin', { appId: 'wx1' });
    const stranger = newService('another secret of thirty-two characters');
    const cause = { message: expect.stringMatching(/GATEPOST_SECRET/) as string };
    const refusal = { errorName: 'SERVICE_UNAVAILABLE', cause };
    await expect(stranger.find(appId, 'weixin', 'weixin')).rejects.toMatchObject(refusal);
    await expect(stranger.list(appId)).rejects.toMatchObject(refusal);
    await expect(stranger.assertSecretFits()).rejects.toThrow(/GATEPOST_SECRET/);
    await service.assertSecretFits();
  });

  it('of an unknown kind are an error too', async () => {
    await set('weixin', { appId: 'wx1' });
    await database.query("UPDATE auth_linking.platform_credentials SET shown = '{}' WHERE app_id = $1", [appId]);
    await expect(newService().find(appId, 'weixin', 'weixin')).rejects.toMatchObject({ status: 503 });
  });

  it('cannot be set for an application that does not exist', async () => {
    appId = unique('unknown');
    await expect(set('weixin', { appId: 'wx1' })).rejects.toMatchObject({ errorName: 'NOT_FOUND' });
    expect(await service.list(appId)).toEqual([]);
  });
});
