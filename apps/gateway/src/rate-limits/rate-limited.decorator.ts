import { RouteConfig } from '@nestjs/platform-fastify';
import type { RateLimitGroup } from './rate-limit.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The groups, besides `requests`, in which a request of the route counts. */
    rateLimitGroups?: readonly RateLimitGroup[];
  }
}

/** Names the groups in which a request of the route counts. Every request counts in `requests` besides. */
export function RateLimited(...rateLimitGroups: Exclude<RateLimitGroup, 'requests'>[]): MethodDecorator {
  return RouteConfig({ rateLimitGroups });
}
