import type { FastifyRequest } from 'fastify';
import { appError } from '#errors';
import { originsOf } from '../http/sub-request.js';

const BATCH_ROUTE = '/1.1/batch';

/**
 * The route is asked, not the URL's text: however it was written, a batch within a batch is known as one.
 * @throws AppError NOT_SUPPORTED
 */
export function assertNotWithinBatch(request: FastifyRequest): void {
  const isWithinBatch = originsOf(request).some(({ routeOptions }) => routeOptions.url === BATCH_ROUTE);
  if (isWithinBatch) throw appError('NOT_SUPPORTED', { message: 'A batch cannot hold another batch.' });
}
