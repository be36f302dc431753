import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { batchEndpoints } from './batch.endpoints.js';
import { BatchService } from './batch.service.js';
import { assertNotWithinBatch } from './nested-batch.js';

@Controller('1.1/batch')
export class BatchController {
  constructor(private readonly batch: BatchService) {}

  @Post()
  @Endpoint(batchEndpoints.run)
  async run(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    assertNotWithinBatch(request);
    const answer = await this.batch.run(request);
    void reply.code(200).type('application/json; charset=utf-8').send(answer);
  }
}
