import { Controller, HttpCode, HttpStatus, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { authLinkingRpc, type Caller, type JsonObject, objectsRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { hasAuthData } from '../users/auth-data.js';
import { batchEndpoints } from './batch.endpoints.js';
import { parseWrites, resultsById } from './batch-save.js';
import { assertNotWithinBatch } from './nested-batch.js';
import { WriteLimits } from './write-limits.js';

@Controller('1.1/batch/save')
export class BatchSaveController {
  constructor(
    private readonly rpc: RpcClient,
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
    const isProofNeeded = writes.some(({ className, fields }) => className === '_User' && hasAuthData(fields));
    const contract = isProofNeeded ? authLinkingRpc.saveAll : objectsRpc.saveAll;
    const { results } = await this.rpc.call(contract, { caller, writes });
    return resultsById(results);
  }
}
