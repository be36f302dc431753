import { Controller, HttpCode, HttpStatus, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { originsOf } from '../http/sub-request.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { parseWrites, resultsById } from './batch-save.js';
import { batchEndpoints } from './batch.endpoints.js';
import { BatchService } from './batch.service.js';

const BATCH_ROUTE = '/1.1/batch';

@Controller('1.1/batch')
export class BatchController {
  constructor(private readonly batch: BatchService) {}

  @Post()
  @Endpoint(batchEndpoints.run)
  async run(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    assertNotWithinBatch(request);
    const response = await this.batch.run(request);
    void reply.code(200).type('application/json; charset=utf-8').send(response);
  }
}

@Controller('1.1/batch/save')
export class BatchSaveController {
  constructor(private readonly batch: BatchService) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @Endpoint(batchEndpoints.save)
  async save(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    assertNotWithinBatch(request);
    const writes = parseWrites(body);
    if (writes.length === 0) return {};
    await this.batch.countWrites(request, reply, writes);
    return resultsById(await this.batch.save(caller, writes));
  }
}

/**
 * Compares the matched route, because a URL can be written in several ways.
 * @throws AppError NOT_SUPPORTED
 */
function assertNotWithinBatch(request: FastifyRequest): void {
  const isWithinBatch = originsOf(request).some(({ routeOptions }) => routeOptions.url === BATCH_ROUTE);
  if (isWithinBatch) throw appError('NOT_SUPPORTED', { message: 'A batch cannot contain another batch.' });
}
