import { createHash } from 'node:crypto';
import { Controller, type DynamicModule, Get, Module, Post } from '@nestjs/common';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { isProvided, useBrowser } from '#testing';
import type { OpenApiDocument } from '../src/openapi/openapi.types.js';
import { fakeServices, GATEWAY_CONFIG, startGateway } from './start-gateway.js';

function moduleOf(controller: new () => object): DynamicModule {
  @Module({})
  class AnyModule {}
  return { module: AnyModule, controllers: [controller] };
}

describe('the description of the API', () => {
  let service: RunningService;
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${service.port}${path}`, { headers });

  beforeAll(async () => {
    service = await startGateway(fakeServices());
  });
  afterAll(() => service.stop());

  describe('GET /openapi.json', () => {
    it('is a valid OpenAPI 3.1 document', async () => {
      const { valid, errors } = await new Validator().validate(
        (await (await get('/openapi.json')).json()) as Record<string, unknown>,
      );
      expect([valid, errors]).toEqual([true, undefined]);
    });

    it('names the configured address, and every path as it is called', async () => {
      const { servers, paths } = (await (await get('/openapi.json')).json()) as OpenApiDocument;
      expect(servers).toEqual([{ url: GATEWAY_CONFIG.baseUrl }]);
      expect(Object.keys(paths)).toEqual(
        expect.arrayContaining(['/1.1/users/{objectId}', '/1.1/classes/_User/{objectId}', '/docs', '/healthz']),
      );
    });

    it('gives every operation an id of its own, and refers to nothing that is not there', async () => {
      const text = await (await get('/openapi.json')).text();
      const document = JSON.parse(text) as OpenApiDocument;
      const ids = Object.values(document.paths).flatMap((item) => Object.values(item).map((each) => each.operationId));
      expect(new Set(ids).size).toBe(ids.length);
      for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g))
        expect(document.components).toHaveProperty([kind, name]);
    });
  });

  it.each([
    ['/openapi.json', 'application/json; charset=utf-8'],
    ['/docs', 'text/html; charset=utf-8'],
    ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ])('%s needs no credentials, can be cached, and is not sent again for a matching ETag', async (path, type) => {
    const response = await get(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const again = await get(path, { 'if-none-match': response.headers.get('etag') ?? '' });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('the page may load only from the gateway, send no form and stand in no frame', async () => {
    const policy = (await get('/docs')).headers.get('content-security-policy') ?? '';
    expect(policy.replaceAll(/'sha256-[\w+/=]+'/g, 'HASH').split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self' HASH",
      "style-src 'self' HASH",
      'img-src data:',
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
  });

  it('the policy allows the inline script and style of the page by their hashes', async () => {
    const response = await get('/docs');
    const page = await response.text();
    const policy = response.headers.get('content-security-policy');
    for (const element of ['script', 'style']) {
      const [, content = ''] = new RegExp(`<${element}>([^]*?)</${element}>`).exec(page) ?? [];
      expect(policy).toContain(`'sha256-${createHash('sha256').update(content).digest('base64')}'`);
    }
  });

  describe.runIf(isProvided('browser'))('in a browser', () => {
    const visit = useBrowser();

    it.each([390, 1280])(
      'fits a window of %i pixels, and loads nothing from another host',
      async (width) => {
        const { page, requests, complaints } = await visit({ viewport: { width, height: 800 } });
        const base = `http://127.0.0.1:${service.port}/`;
        await page.goto(`${base}docs`);
        await page.getByText('Log in with a password or a code').click();
        await page.getByText('Responses', { exact: true }).waitFor();
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
        expect(
          requests.map((request) => request.url()).filter((url) => !url.startsWith('data:') && !url.startsWith(base)),
        ).toEqual([]);
        expect(complaints).toEqual([]);
        await page.context().close();
      },
      90_000,
    );
  });

  @Controller('1.1')
  class UndescribedController {
    @Get('secret-door')
    open(): string {
      return '';
    }
  }
  @Controller('other')
  class UndescribedElsewhere {
    @Post()
    open(): string {
      return '';
    }
  }
  it.each([
    [UndescribedController, /GET \/1\.1\/secret-door/],
    [UndescribedElsewhere, /POST \/other/],
  ])('does not start with a route that has no description: %o', async (controller, reason) => {
    await expect(startGateway(fakeServices(), [moduleOf(controller)])).rejects.toThrow(reason);
  });
});
