import { z } from 'zod';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';

const entry = z
  .looseObject({
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
    path: z.string().startsWith('/1.1/').describe('As in the URL, from `/1.1/` on; it may have a query.'),
    params: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Parameters of the URL; what is no text is sent as JSON.'),
    body: z.record(z.string(), z.unknown()).optional(),
  })
  .describe('A request as it would be sent alone.');

const entryAnswer = z
  .union([
    z.object({ success: z.unknown() }).describe('The body of its answer.'),
    z.object({ error: z.object({ code: z.int(), error: z.string() }) }).describe('The error that it was answered.'),
  ])
  .describe('What one request was answered.');

export const batchEndpoints = describeEndpoints('Batch', {
  run: {
    summary: 'Send several requests at once',
    description:
      'They are run one after the other, with the headers of the batch, and each as if it had been sent alone: one that fails stops none of the others. A batch within a batch is refused with code 1.',
    credentials: 'application',
    body: z.looseObject({ requests: z.array(entry).max(100) }),
    answers: { 200: { description: 'Their answers, in their order.', body: z.array(entryAnswer) } },
    errors: [],
  },
});
