import { Controller, HttpCode, HttpStatus, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, JsonObject } from '#contracts';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { batchEndpoints } from './batch.endpoints.js';
import { parseWrites, resultsById } from './batch-save.js';
import { BatchSaveService } from './batch-save.service.js';
import { assertNotWithinBatch } from './nested-batch.js';
import { WriteLimits } from './write-limits.js';

@Controller('1.1/batch/save')
export class BatchSaveController {
  constructor(
    private readonly saves: BatchSaveService,
    private readonly limits: WriteLimits,
  ) {}

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
    await this.limits.count(request, reply, writes);
    return resultsById(await this.saves.save(caller, writes));
  }
}
