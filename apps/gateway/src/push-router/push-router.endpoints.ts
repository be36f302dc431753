import { z } from 'zod';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';

/**
 * Where a device connects. Without the member `groupUrl` of the real service: Android 4 stores `https://` and that text as its
 * router, for good.
 */
export const pushRoute = z.strictObject({
  groupId: z.string(),
  server: z.url().describe('The WebSocket address.'),
  secondary: z.url().describe('Another one, or the same again.'),
  ttl: z.int().describe('How long the answer may be kept, in seconds.'),
});

export const pushRouterEndpoints = describeEndpoints('Push', {
  route: {
    summary: 'Find out where devices connect',
    description: 'SDKs ask it before they connect. It needs no key.',
    credentials: 'none',
    query: z.object({
      appId: z.string().describe('The id of the application.'),
      installationId: z.string().optional().describe('Means nothing here; SDKs send it.'),
      secure: z.string().optional().describe('Means nothing here: the server decides between `ws` and `wss`.'),
    }),
    answers: { 200: { description: 'The addresses.', body: pushRoute } },
    errors: ['KEY_REQUIRED', 'NOT_FOUND', 'TOO_MANY_REQUESTS', 'SERVICE_UNAVAILABLE'],
  },
});
