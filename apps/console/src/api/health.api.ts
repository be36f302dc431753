import { z } from 'zod';
import { count, route, time } from './route.js';

const process = z.object({
  instance: z.string(),
  service: z.string(),
  host: z.string(),
  pid: count,
  version: z.string(),
  node: z.string(),
  now: time,
  problems: z.array(z.string()),
  servers: z.array(
    z.object({
      name: z.string(),
      problem: z.string().nullable(),
      version: z.string().nullable(),
      /** How far the server's clock is ahead. */
      skewMs: z.number().int().nullable(),
    }),
  ),
});

export const DEAD_LETTER_SERVICES = ['accounts', 'mail', 'push-delivery'] as const;
const ofService = z.object({ service: z.string().regex(/^[a-z-]{1,40}$/) });

const deadLetter = z.object({
  pattern: z.string(),
  reason: z.string().nullable(),
  diedAt: time.nullable(),
  /** JSON with personal data masked. */
  body: z.string(),
});

export const healthApi = {
  getHealth: route({
    method: 'GET',
    path: '/health',
    access: 'health.read',
    isShared: true,
    reply: z.object({ processes: z.array(process), silent: z.array(z.string()) }),
  }),
  /** Texts are in English. Only owners see that a secret is weak. */
  getFindings: route({
    method: 'GET',
    path: '/health/findings',
    access: 'health.read',
    reply: z.object({
      items: z.array(
        z.object({
          problem: z.string(),
          remedy: z.string(),
          isAdvice: z.boolean(),
        }),
      ),
    }),
  }),
  /** By service; null without a broker. */
  listDeadLetters: route({
    method: 'GET',
    path: '/dead-letters',
    access: 'deadLetters.write',
    reply: z.object({ services: z.array(z.object({ service: z.string(), messages: count })).nullable() }),
  }),
  peekDeadLetters: route({
    method: 'POST',
    path: '/dead-letters/:service/peek',
    access: 'deadLetters.write',
    isRead: true,
    params: ofService,
    body: z.strictObject({ limit: z.number().int().min(1).max(50).default(10) }),
    reply: z.object({ items: z.array(deadLetter) }),
  }),
  replayDeadLetters: route({
    method: 'POST',
    path: '/dead-letters/:service/replay',
    access: 'deadLetters.write',
    params: ofService,
    reply: z.object({ replayed: count }),
  }),
  dropDeadLetters: route({
    method: 'POST',
    path: '/dead-letters/:service/drop',
    access: 'deadLetters.write',
    params: ofService,
    reply: z.object({ dropped: count }),
  }),
};
