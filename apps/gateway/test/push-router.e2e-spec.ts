import { afterEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { pushRpc } from '#contracts';
import { appError } from '#errors';
import type { FakeTransport } from '#testing';
import type { GatewayConfig } from '../src/gateway.config.js';
import { APPLICATION, fakeServices, startGateway } from './start-gateway.js';

describe('GET /v1/route', () => {
  let services: FakeTransport;
  let gateway: RunningService;

  const start = async (config: Partial<GatewayConfig> = {}) => {
    services = fakeServices();
    gateway = await startGateway(services, [], config);
  };
  const ask = async (query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/route${query}`, { headers });
    return { response, status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  afterEach(() => gateway.stop());

  it('returns the configured addresses without credentials, also to pages of any origin', async () => {
    await start({ pushUrls: { server: 'wss://push.example.com/push', secondary: 'wss://push2.example.com/push' } });
    const { response, status, body } = await ask(`?appId=${APPLICATION.id}&installationId=x&secure=1`, {
      origin: 'https://shop.example.com',
    });
    expect([status, body]).toEqual([
      200,
      {
        groupId: 'gatepost',
        server: 'wss://push.example.com/push',
        secondary: 'wss://push2.example.com/push',
        ttl: 3_600,
      },
    ]);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(services.calledPatterns).toEqual([]);
  });

  it('without configured addresses, returns the running connectors in turn, with TLS if the API uses it', async () => {
    await start({ pushUrls: undefined, baseUrl: 'https://api.example.com' });
    services.answer(pushRpc.findConnectors, () => ({ ports: [7001, 7002] }));
    const first = await ask(`?appId=${APPLICATION.id}`);
    const second = await ask(`?appId=${APPLICATION.id}`);
    const [one, two] = ['wss://api.example.com:7001/push', 'wss://api.example.com:7002/push'];
    expect([first.body['server'], first.body['secondary']].sort()).toEqual([one, two]);
    expect([second.body['server'], second.body['secondary']]).toEqual([first.body['secondary'], first.body['server']]);
    expect(first.body['ttl']).toBe(60);
  });

  it('returns 503 when no connector is running, or none can be found', async () => {
    await start({ pushUrls: undefined });
    services.answer(pushRpc.findConnectors, () => ({ ports: [] }));
    const { response, status, body } = await ask(`?appId=${APPLICATION.id}`);
    expect([status, body['code'], response.headers.get('retry-after')]).toEqual([503, 503, '1']);
    services.fail(pushRpc.findConnectors, appError('SERVICE_UNAVAILABLE'));
    expect((await ask(`?appId=${APPLICATION.id}`)).status).toBe(503);
  });

  it.each(['', '?appId=', '?appId=a&appId=b'])('refuses %j: it names no application', async (query) => {
    await start();
    const { status, body } = await ask(query);
    expect([status, body]).toEqual([400, { code: 113, error: 'appId is required.' }]);
  });

  it.each(['unknown', '__proto__'])('refuses the application %s, which does not exist', async (appId) => {
    await start();
    const { status, body } = await ask(`?appId=${appId}`);
    expect([status, body]).toEqual([404, { code: 101, error: 'There is no such application.' }]);
  });
});
