import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { OVERRIDE_PATH } from '../http/method-override.js';
import { ENDPOINTS, type RoutedEndpoint, templateOf } from './routed-endpoints.js';

/** They come with other routes: HEAD with GET, OPTIONS with CORS. */
const IMPLIED_METHODS = new Set(['HEAD', 'OPTIONS']);

/** Keeps the server from starting with a route that nothing describes. */
export function refuseUndescribedRoutes(app: NestFastifyApplication): void {
  const endpoints = app.get<readonly RoutedEndpoint[]>(ENDPOINTS);
  const described = new Set(endpoints.flatMap(({ method, paths }) => paths.map((path) => `${method} ${path}`)));
  const isDescribed = (method: string, url: string) =>
    IMPLIED_METHODS.has(method) || url === OVERRIDE_PATH || described.has(`${method} ${templateOf(url)}`);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRoute', ({ method, url }) => {
      const missing = [method].flat().find((each) => !isDescribed(each, url));
      if (missing !== undefined)
        throw new Error(`${missing} ${url} has no @Endpoint that says what it takes and answers.`);
    });
}
