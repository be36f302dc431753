import { afterAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  eventually,
  masterClient,
  startServices,
  TcpProxy,
  testRun,
  unique,
  uniquePhone,
  useServer,
} from '#testing';

const LIMIT = 4;
const RECOVERY_MS = 20_000;

describe('limits of requests over two gateways, behind a proxy', () => {
  let redis: TcpProxy;
  const server = useServer(async () => {
    redis = await TcpProxy.to(new URL(testRun().redisUrl), 6379);
    return startServices(
      { gateway: 2, accounts: 1 },
      {
        REDIS_URL: redis.urlFor(testRun().redisUrl),
        GATEPOST_RATE_LIMIT_SIGN_UPS: `${LIMIT}/60`,
        GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS: `${LIMIT}/60`,
        GATEPOST_TRUSTED_PROXIES: 'loopback',
      },
    );
  });
  afterAll(() => redis.close());

  let clients = 0;
  /** An address that no other test comes from. */
  const newAddress = () => `203.0.113.${(clients += 1)}`;
  const signUpFrom = async (address: string, gateway: number, api = appClient(server(), gateway)) => {
    const account = { username: unique('limited'), password: 'correct horse' };
    // The value that the client sent comes before the value that the proxy adds.
    const headers = { 'x-forwarded-for': `${unique('forged')}, ${address}` };
    return api.post('/1.1/users', account, { headers });
  };
  const statusesOf = async (address: string, gateways: readonly number[]) => {
    const statuses: number[] = [];
    for (const gateway of gateways) statuses.push((await signUpFrom(address, gateway)).status);
    return statuses;
  };
  const metricsOf = async (gateway: number) => (await fetch(`${server().baseUrls[gateway] ?? ''}/metrics`)).text();

  it('are one limit for both, by address', async () => {
    const [first, second] = [newAddress(), newAddress()];
    expect(await statusesOf(first, [0, 1, 0, 1, 0, 1])).toEqual([201, 201, 201, 201, 429, 429]);
    expect(await statusesOf(second, [1])).toEqual([201]);
    const { status, body, headers } = await signUpFrom(first, 1);
    expect([status, body['code']]).toEqual([429, 429]);
    const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'];
    const [limit, remaining, reset, retryAfter] = names.map((name) => Number(headers.get(name)));
    expect([limit, remaining, reset === retryAfter]).toEqual([LIMIT, 0, true]);
    expect(reset).toBeGreaterThan(40);
  });

  it('hold under parallel requests to both', async () => {
    const address = newAddress();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => signUpFrom(address, index % 2)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(LIMIT);
  });

  it('hold for made-up application ids in each gateway alone, and for no application that exists', async () => {
    const address = newAddress();
    const headers = { 'x-forwarded-for': address };
    const stranger = (gateway: number) =>
      ApiClient.forApp(server().baseUrls[gateway] ?? '', { id: unique('app'), appKey: 'any', masterKey: 'any' });
    const statuses: number[] = [];
    for (let count = 0; count < LIMIT + 2; count += 1)
      statuses.push((await stranger(1).get('/1.1/users/me', { headers })).status);
    expect(statuses).toEqual([...Array.from({ length: LIMIT }, () => 401), 429, 429]);
    expect((await stranger(0).get('/1.1/users/me', { headers })).status).toBe(401);
    expect(await statusesOf(address, [1])).toEqual([201]);
  });

  it('do not hold for the master key', async () => {
    const address = newAddress();
    for (let count = 0; count <= LIMIT; count += 1)
      expect((await signUpFrom(address, 0, masterClient(server()))).status).toBe(201);
  });

  it('hold for each process alone while Redis is away, and together again when it is back', async () => {
    const [during, after] = [newAddress(), newAddress()];
    redis.takeAway();
    const start = performance.now();
    expect(await statusesOf(during, [0, 0, 0, 0, 0])).toEqual([201, 201, 201, 201, 429]);
    expect(performance.now() - start).toBeLessThan(3_000);
    expect(await statusesOf(during, [1])).toEqual([201]);
    for (const baseUrl of server().baseUrls) expect((await new ApiClient(baseUrl, {}).get('/readyz')).status).toBe(200);
    expect(await metricsOf(0)).toMatch(/^gatepost_rate_limit_fallbacks_total 5$/m);
    await server().main.untilLogged(/"service":"gateway".*"context":"Redis".*"msg":"not connected/);
    redis.bringBack();
    await eventually(async () => {
      const address = newAddress();
      expect(await statusesOf(address, [0, 1, 0, 1, 0])).toEqual([201, 201, 201, 201, 429]);
      expect(await statusesOf(address, [1])).toEqual([429]);
    }, RECOVERY_MS);
    expect(await statusesOf(after, [0])).toEqual([201]);
  });
});

describe('limits of requests as they are by default', () => {
  const server = useServer(() => startServices({ gateway: 1, accounts: 1 }, { GATEPOST_RATE_LIMIT_MESSAGES: '' }));

  it('do not stand in the way of a hundred requests from one address', async () => {
    const api = appClient(server());
    const answers = await Promise.all(Array.from({ length: 100 }, () => api.post('/1.1/login', { username: 'x' })));
    expect(answers.filter(({ status }) => status === 429)).toEqual([]);
  });

  it('let one address have 30 messages sent in an hour, in a batch too', async () => {
    const api = appClient(server());
    const requests = Array.from({ length: 31 }, () => ({
      method: 'POST',
      path: '/1.1/requestSmsCode',
      body: { mobilePhoneNumber: uniquePhone() },
    }));
    const { body } = await api.post('/1.1/batch', { requests });
    const answers = body as unknown as { success?: unknown; error?: { code: number } }[];
    expect(answers.map(({ success, error }) => error?.code ?? success)).toEqual([
      ...Array.from({ length: 30 }, () => ({})),
      429,
    ]);
    const { status, headers } = await api.post('/1.1/requestSmsCode', { mobilePhoneNumber: uniquePhone() });
    expect([status, headers.get('ratelimit-limit')]).toEqual([429, '30']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(3_500);
  });

  it('report to the operator once a proxy that is not trusted', async () => {
    const hint = /A proxy in your network .*GATEPOST_TRUSTED_PROXIES/g;
    const { main } = server();
    expect(main.stderr).not.toMatch(hint);
    for (let count = 0; count < 3; count += 1)
      await appClient(server()).get('/1.1/ping', { headers: { 'x-forwarded-for': '203.0.113.1' } });
    await main.untilLogged(hint);
    expect(main.stderr.match(hint)).toHaveLength(1);
  });
});
