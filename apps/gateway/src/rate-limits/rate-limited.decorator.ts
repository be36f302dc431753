import { RouteConfig } from '@nestjs/platform-fastify';
import type { RateLimitGroup } from './rate-limit.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The groups, besides `requests`, in which a request of the route counts. */
    rateLimitGroups?: readonly RateLimitGroup[];
  }
}

/**
 * Names the groups in which a request of the route counts. Every request with credentials counts in `requests` besides; one
 * of a route that asks for none only where this stands there, even without a group.
 */
export function RateLimited(...rateLimitGroups: Exclude<RateLimitGroup, 'requests'>[]): MethodDecorator {
  return RouteConfig({ rateLimitGroups });
}
