import { describe, expect, it } from 'vitest';
import { ApiClient, appClient, type GatepostServer } from '#testing';

/** Health, metrics, ping, date and CORS, which need no credentials; and the statistics that SDKs send. */
export function describeServiceRoutes(server: () => GatepostServer): void {
  describe('without credentials', () => {
    const open = () => new ApiClient(server().baseUrls[0] ?? '', {});

    it('/healthz and /readyz say that all is well', async () => {
      expect(await open().get('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
      expect(await open().get('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
    });

    it('/1.1/ping and /1.1/date answer', async () => {
      expect((await open().get('/1.1/ping')).status).toBe(200);
      const { body } = await open().get('/1.1/date');
      expect(body['__type']).toBe('Date');
      expect(Math.abs(Date.parse(String(body['iso'])) - Date.now())).toBeLessThan(60_000);
    });

    it('the statistics of SDKs are accepted for an application, and refused without one', async () => {
      const app = appClient(server());
      expect(await app.post('/1.1/stats/collect', { client: {} })).toMatchObject({ status: 200, body: {} });
      expect(await app.post('/1.1/always_collect', { client: {} })).toMatchObject({ status: 200, body: {} });
      const policy = '/1.1/statistics/apps/any/sendPolicy';
      expect(await app.get(policy)).toMatchObject({ status: 200, body: {} });
      expect((await open().get(policy)).status).toBe(401);
    });

    it('/docs and /openapi.json describe the API, and are not sent twice', async () => {
      const published = {
        '/docs': '/docs/swagger-ui-bundle.js',
        '/docs/swagger-ui-bundle.js': 'SwaggerUIBundle',
        '/docs/swagger-ui.css': '.swagger-ui',
        '/openapi.json': 'updatePassword',
      };
      for (const [path, content] of Object.entries(published)) {
        const { status, headers, text } = await open().get(path);
        expect([status, text.includes(content)]).toEqual([200, true]);
        const again = await open().get(path, { headers: { 'if-none-match': headers.get('etag') ?? '' } });
        expect([again.status, again.text]).toEqual([304, '']);
      }
    });

    it('/metrics counts requests by route and status, and names no user', async () => {
      await appClient(server()).get('/1.1/users/me', { session: 'secret-session-token' });
      const { headers, text } = await open().get('/metrics');
      expect(headers.get('content-type')).toMatch(/^text\/plain/);
      expect(text).toMatch(
        /gatepost_http_request_duration_seconds_count\{[^}]*route="\/1\.1\/users\/me"[^}]*status="400"[^}]*\} \d+/,
      );
      expect(text).toContain('nodejs_eventloop_lag');
      expect(text).not.toContain('secret-session-token');
    });

    it('answers a preflight with the headers that SDKs send', async () => {
      const response = await fetch(`${server().baseUrls[0] ?? ''}/1.1/users`, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://shop.example',
          'access-control-request-method': 'PUT',
          'access-control-request-headers': 'x-lc-id,x-lc-key',
        },
      });
      expect(response.status).toBeLessThan(300);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('access-control-allow-methods')).toMatch(/PUT/);
      const allowed = (response.headers.get('access-control-allow-headers') ?? '').toLowerCase();
      for (const name of ['content-type', 'x-lc-id', 'x-lc-key', 'x-lc-sign', 'x-lc-session', 'x-lc-prod', 'x-lc-ua'])
        expect(allowed).toContain(name);
      expect(response.headers.get('access-control-max-age')).toBe('86400');
    });

    it('lets browsers read errors', async () => {
      const response = await fetch(`${server().baseUrls[0] ?? ''}/1.1/users/me`, {
        headers: { origin: 'https://shop.example' },
      });
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
    });

    it('keeps a harmless request id, and replaces any other', async () => {
      const idFor = async (id: string) =>
        (await open().get('/1.1/date', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
      expect(await idFor('my-request-0001')).toBe('my-request-0001');
      expect(await idFor('bad id')).not.toBe('bad id');
      expect(await idFor('x'.repeat(500))).toMatch(/^[\w-]{8,64}$/);
    });
  });
}
