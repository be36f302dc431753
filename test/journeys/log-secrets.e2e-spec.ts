import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiReply,
  appClient,
  codeSentBy,
  eventually,
  type GatepostServer,
  type Json,
  linkIn,
  masterClient,
  newDatabase,
  setSetting,
  startServices,
  TcpProxy,
  testRun,
  unique,
  uniquePhone,
  usePlatforms,
  useSmtpSink,
} from '#testing';
import { setCredentials } from './suites/platform-apps.js';

const SMTP_PASSWORD = unique('smtp-password');
const DATABASE_PASSWORD = unique('database-password');
const JOURNEY_MS = 180_000;
const LOGGED_MS = 40_000;
const SERVICE_LOGGED_MS = 10_000;

interface LogLine {
  readonly service: string;
  readonly level: string;
  readonly requestId?: string;
  readonly messageId?: string;
}

/** A database whose owner logs in with the password that no log may hold. The role has the database's name, and goes with it after the run. */
async function databaseOfOwnRole(): Promise<URL> {
  const url = new URL(await newDatabase());
  const name = url.pathname.slice(1);
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(`CREATE ROLE ${name} LOGIN PASSWORD '${DATABASE_PASSWORD}'`);
    await client.query(`GRANT ${name} TO CURRENT_USER`);
    await client.query(`ALTER DATABASE ${name} OWNER TO ${name}`);
  } finally {
    await client.end();
  }
  return Object.assign(url, { username: name, password: DATABASE_PASSWORD });
}

describe('the logs of all services, with all levels', () => {
  const platforms = usePlatforms();
  const sink = useSmtpSink({ account: { user: 'gatepost', password: SMTP_PASSWORD } });
  const proxies: Record<'postgres' | 'mailPostgres' | 'redis' | 'rabbit', TcpProxy> = {} as never;
  let server: GatepostServer;
  /** Texts that no log may contain. */
  const secrets = new Set<string>([SMTP_PASSWORD, DATABASE_PASSWORD]);
  const secret = (prefix: string) => keep(unique(prefix));
  const keep = (text: string) => {
    secrets.add(text);
    return text;
  };
  const log = () => `${server.main.stderr}${server.main.stdout}`;
  const linesOf = (requestId: string) =>
    server.main.stderr
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes(requestId))
      .map((line) => JSON.parse(line) as LogLine);
  /** Afterwards the services know the application for a second. */
  const recovered = () =>
    eventually(async () => {
      expect((await fetch(`${server.baseUrls[0] ?? ''}/readyz`)).status).toBe(200);
      expect((await master().get('/1.1/users?limit=1')).status).toBe(200);
    }, LOGGED_MS);
  /** Takes a server away, has something fail, and brings it back. */
  const without = async (proxy: TcpProxy, work: () => Promise<unknown>) => {
    await recovered();
    proxy.takeAway();
    await work().finally(() => {
      proxy.bringBack();
    });
  };
  const api = () => appClient(server).acceptingUnavailable();
  const master = () => masterClient(server).acceptingUnavailable();
  const signUp = async (fields: Json = {}) => {
    const account = { username: secret('name'), password: secret('password'), email: keep(email()), ...fields };
    const { status, body } = await api().post('/1.1/users', account);
    expect(status).toBe(201);
    return { ...account, id: String(body['objectId']), session: keep(String(body['sessionToken'])) };
  };
  const email = () => `${unique('mailbox')}@example.com`;

  beforeAll(async () => {
    const { redisUrl, amqpUrl } = testRun();
    const databaseUrl = await databaseOfOwnRole();
    proxies.postgres = await TcpProxy.to(databaseUrl, 5432);
    proxies.mailPostgres = await TcpProxy.to(databaseUrl, 5432);
    proxies.redis = await TcpProxy.to(new URL(redisUrl), 6379);
    proxies.rabbit = await TcpProxy.to(new URL(amqpUrl), 5672);
    server = await startServices(
      { gateway: 1, accounts: 1, 'auth-linking': 1, mail: 1, 'push-delivery': 1 },
      {
        ...platforms().env(),
        ...sink().env(),
        DATABASE_URL: proxies.postgres.urlFor(databaseUrl.href),
        GATEPOST_MAIL_DATABASE_URL: proxies.mailPostgres.urlFor(databaseUrl.href),
        REDIS_URL: proxies.redis.urlFor(redisUrl),
        AMQP_URL: proxies.rabbit.urlFor(amqpUrl),
        GATEPOST_LOG_LEVEL: 'debug',
        // Elsewhere links and codes are shown on the console of who develops.
        NODE_ENV: 'production',
      },
    );
    for (const text of [server.app.appKey, server.app.masterKey, server.env['GATEPOST_SECRET'] ?? '']) keep(text);
    await setSetting(server, server.app, 'verifyEmailOnSignUp', 'true');
    await setCredentials(server, platforms(), server.app, ['weixin', 'lc_weapp']);
    for (const { appSecret } of Object.values(platforms().credentials) as { appSecret?: string }[])
      if (appSecret !== undefined) keep(appSecret);
  }, JOURNEY_MS);
  afterAll(async () => {
    await server.stop();
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
  });

  it(
    'name the request in whatever service it fails',
    async () => {
      const user = await signUp();
      // A request may fail earlier than at the service in question, such as at a connection that was just lost.
      const failing = (
        service: string,
        proxy: TcpProxy,
        request: (headers: Record<string, string>) => Promise<unknown>,
      ) =>
        eventually(async () => {
          const requestId = randomUUID();
          await without(proxy, async () => {
            await request({ 'x-request-id': requestId });
            await eventually(() => {
              expect(linesOf(requestId).map((line) => line.service)).toContain(service);
            }, SERVICE_LOGGED_MS);
          });
          return linesOf(requestId);
        }, LOGGED_MS);
      await failing('accounts', proxies.postgres, (headers) =>
        api().get('/1.1/users/me', { session: user.session, headers }),
      );
      await failing('auth-linking', proxies.postgres, (headers) =>
        api().post('/1.1/users', { authData: { weixin: { openid: 'x', access_token: secret('token') } } }, { headers }),
      );
      await failing('push-delivery', proxies.postgres, (headers) =>
        master().post('/1.1/push', { channels: ['all'], data: { alert: secret('alert') } }, { headers }),
      );
      // The event that follows from the request carries its id as well.
      const lines = await failing('mail', proxies.mailPostgres, (headers) => {
        const account = { username: secret('name'), password: secret('password'), email: keep(email()) };
        return api().post('/1.1/users', account, { headers });
      });
      expect(lines.filter(({ messageId }) => messageId !== undefined)).not.toEqual([]);
    },
    JOURNEY_MS,
  );

  it(
    'name a request whose application cannot be read',
    async () => {
      const requestId = randomUUID();
      await without(proxies.postgres, () =>
        eventually(async () => {
          await api().get('/1.1/users/me', { session: 'any', headers: { 'x-request-id': requestId } });
          expect(linesOf(requestId).map((line) => line.service)).toContain('gateway');
        }, LOGGED_MS),
      );
    },
    JOURNEY_MS,
  );

  it(
    'hold no secret, password, token, address or number, whatever happens',
    async () => {
      const user = await signUp();
      const { token } = await eventually(async () => linkIn((await sink().mailsTo(user.email))[0]!), LOGGED_MS);
      const phone = keep(uniquePhone());
      const attempts: (() => Promise<ApiReply>)[] = [
        () => api().post('/1.1/login', { username: user.username, password: secret('wrong') }),
        () => api().post('/1.1/login', { email: user.email, password: user.password }),
        () => api().post('/1.1/login', { email: keep(email()), password: secret('wrong') }),
        () => api().post('/1.1/users', { username: user.username, password: user.password }),
        () => api().post('/1.1/users', { username: secret('name'), password: user.password, email: user.email }),
        () => api().get('/1.1/users/me', { session: secret('session') }),
        () => api().get(`/1.1/users/me?session_token=${secret('session')}`),
        () => api().get(`/1.1/users/me?session_token=${user.session}`, { session: secret('session') }),
        () => api().get(`/1.1/users/me/?session_token=${user.session}`),
        () => api().get(`/1.1/users/me?session_token=${secret('session')}&x=%zz`),
        () => api().get(`/1.1/users/%zz?session_token=${secret('session')}`),
        () => api().get(`/1.1/unknown?session_token=${secret('session')}`),
        () => api().send('PATCH', `/1.1/users/me?session_token=${secret('session')}`),
        () => api().get(`/1.1/users/me?session_token=${secret('session').repeat(600)}`),
        () =>
          api().post(`/1.1/users/me?session_token=${secret('session')}`, '{"_method":"GET",', {
            headers: { 'content-type': 'text/plain' },
          }),
        () => api().put(`/1.1/users/${user.id}`, { email: keep(email()) }, { session: user.session }),
        () =>
          api().put(
            `/1.1/users/${user.id}/updatePassword`,
            { old_password: secret('old'), new_password: secret('new') },
            { session: user.session },
          ),
        () => api().post('/1.1/users', `{"password":"${secret('password')}", oops`),
        () => api().post('/1.1/login', `"${secret('password')}`),
        () => api().post('/1.1/login', { username: { $ne: secret('name') }, password: [secret('password')] }),
        () =>
          api().post('/1.1/users', {
            authData: { weixin: { openid: secret('openid'), access_token: secret('token') } },
          }),
        () => api().post('/1.1/users', { authData: { lc_weapp: { openid: secret('openid'), code: secret('code') } } }),
        () => api().post('/1.1/users', { authData: { github: { uid: secret('uid'), access_token: secret('token') } } }),
        () =>
          api().get(
            `/1.1/users?where=${encodeURIComponent(JSON.stringify({ email: keep(email()), $bad: secret('value') }))}`,
          ),
        () => api().get(`/1.1/users?where={"email":"${secret('value')}`),
        () =>
          api()
            .as({ 'x-lc-id': server.app.id, 'x-lc-key': secret('key') })
            .get('/1.1/users/me'),
        () => api().post(`/1.1/verifyEmail/${secret('token')}`, {}),
        () => api().post(`/1.1/resetPassword/${secret('token')}`, { password: secret('password') }),
        () => api().post('/1.1/requestPasswordReset', { email: user.email }),
        () => api().post(`/1.1/verifySmsCode/${secret('smscode')}`, { mobilePhoneNumber: phone }),
        () => api().post('/1.1/usersByMobilePhone', { mobilePhoneNumber: keep(uniquePhone()), smsCode: '000000' }),
        () => api().post('/1.1/installations', { deviceType: 'ios', deviceToken: secret('device-token') }),
        () =>
          master().post('/1.1/push', {
            where: { deviceToken: secret('device-token') },
            data: { alert: secret('alert') },
          }),
        () => master().post('/1.1/push/devices', { device_ids: [secret('device')], data: { alert: secret('alert') } }),
        () => master().post('/1.1/push', { where: { deviceToken: { $regex: `(${secret('pattern')}` } }, data: {} }),
      ];
      const runAll = async () => {
        for (const attempt of attempts) await attempt();
      };
      await runAll();
      const code = await codeSentBy(server, phone, () =>
        api().post('/1.1/requestSmsCode', { mobilePhoneNumber: phone }),
      );
      await api().post('/1.1/usersByMobilePhone', { mobilePhoneNumber: phone, smsCode: code });
      await api().post(`/1.1/verifyEmail/${keep(token)}`, {});
      for (const proxy of Object.values(proxies)) await without(proxy, runAll);
      await recovered();
      sink().refuse(user.email, 550);
      await sink().goDown();
      await signUp();
      await server.main.untilLogged(/paused, everything waits/, LOGGED_MS);
      await sink().goUp();
      const leaked = [...secrets].filter((text) => log().includes(text) || log().includes(encodeURIComponent(text)));
      expect(leaked).toEqual([]);
      // It has seen the failures that it is about.
      expect(log()).toMatch(/ECONNREFUSED|ECONNRESET|Connection terminated/);
    },
    JOURNEY_MS,
  );
});
