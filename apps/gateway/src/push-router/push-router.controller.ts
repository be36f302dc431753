import { Controller, Get, Header, Inject, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { clientNetworkOf, StrangerLimit } from '#admission';
import { appError } from '#errors';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { ConnectorDirectory } from './connector.directory.js';
import { type pushRoute, pushRouterEndpoints } from './push-router.endpoints.js';

/** Connectors come and go; what an operator has set stays. */
const SET_TTL_SECONDS = 3_600;
const FOUND_TTL_SECONDS = 60;

/** Tells devices where to connect. SDKs want the path at the root. */
@Controller('v1')
export class PushRouterController {
  constructor(
    private readonly strangers: StrangerLimit,
    private readonly connectors: ConnectorDirectory,
    @Inject(GATEWAY_CONFIG) private readonly config: Pick<GatewayConfig, 'pushUrls'>,
  ) {}

  @Get('route')
  @Header('Cache-Control', 'no-store')
  @Endpoint(pushRouterEndpoints.route)
  async route(
    @Req() { clientAddress }: FastifyRequest,
    @Query('appId') appId: unknown,
  ): Promise<z.output<typeof pushRoute>> {
    if (typeof appId !== 'string' || appId === '') throw appError('KEY_REQUIRED', { message: 'appId is required.' });
    if (!(await this.strangers.exists(appId, clientNetworkOf(clientAddress))))
      throw appError('NOT_FOUND', { message: 'There is no such application.' });
    const { pushUrls } = this.config;
    const urls = pushUrls ?? (await this.connectors.urls());
    const ttl = pushUrls === undefined ? FOUND_TTL_SECONDS : SET_TTL_SECONDS;
    return { groupId: 'gatepost', ...urls, ttl };
  }
}
