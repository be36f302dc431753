import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { Endpoint } from './endpoint.decorator.js';
import { openapiEndpoints } from './openapi.endpoints.js';
import { publish, type Publication, type StaticContent } from './publication.js';
import { ENDPOINTS, type RoutedEndpoint } from './routed-endpoints.js';

/** What the API says of itself; open to everyone. */
@Controller()
export class OpenApiController {
  private readonly publication: Publication;

  constructor(
    @Inject(ENDPOINTS) endpoints: readonly RoutedEndpoint[],
    @Inject(GATEWAY_CONFIG) { baseUrl }: GatewayConfig,
  ) {
    this.publication = publish(endpoints, baseUrl);
  }

  @Get('openapi.json')
  @Endpoint(openapiEndpoints.getDocument)
  getDocument(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.publication.document);
  }

  @Get('docs')
  @Endpoint(openapiEndpoints.getPage)
  getPage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.publication.page);
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { body, headers }: StaticContent): void {
  void reply.headers(headers);
  const isKnown = request.headers['if-none-match'] === headers['etag'];
  void (isKnown ? reply.code(304).send() : reply.send(body));
}
