import { Controller, Get, Header, Inject, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientNetworkOf, FailedCredentialLimit } from '#admission';
import { TtlCache } from '#bootstrap';
import { pushRpc } from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { GATEWAY_CONFIG, type GatewayConfig, pushUrlBeside, type PushUrls } from '../gateway.config.js';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';

/** Without `groupUrl` of LeanCloud: the SDK of Android 4 would store `https://` and its text as its router permanently. */
const pushRoute = z.strictObject({
  groupId: z.string(),
  server: z.url().describe('The WebSocket address.'),
  secondary: z.url().describe('Another address, or the same one.'),
  ttl: z.int().describe('The time for which the response can be cached, in seconds.'),
});

const pushRouterEndpoints = describeEndpoints('Push', {
  route: {
    summary: 'Get the address for device connections',
    description: 'SDKs request it before they connect. It needs no key.',
    credentials: 'none',
    query: z.object({
      appId: z.string().describe('The id of the application.'),
      installationId: z.string().optional().describe('Ignored; SDKs send it.'),
      secure: z.string().optional().describe('Ignored: the server decides between `ws` and `wss`.'),
    }),
    answers: { 200: { description: 'The addresses.', body: pushRoute } },
    errors: ['KEY_REQUIRED', 'NOT_FOUND', 'TOO_MANY_REQUESTS', 'SERVICE_UNAVAILABLE'],
  },
});

/** Configured addresses are permanent, those of running connectors are not. */
const SET_TTL_SECONDS = 3_600;
const FOUND_TTL_SECONDS = 60;

/** Sends devices to connectors. SDKs require the path at the root. */
@Controller('v1')
export class PushRouterController {
  readonly #found = new TtlCache(() => this.rpc.call(pushRpc.findConnectors, {}));
  #turn = 0;

  constructor(
    private readonly failedCredentials: FailedCredentialLimit,
    private readonly rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) private readonly config: Pick<GatewayConfig, 'baseUrl' | 'pushUrls'>,
  ) {}

  @Get('route')
  @Header('Cache-Control', 'no-store')
  @Endpoint(pushRouterEndpoints.route)
  async route(
    @Req() { clientAddress }: FastifyRequest,
    @Query('appId') appId: unknown,
  ): Promise<z.output<typeof pushRoute>> {
    if (typeof appId !== 'string' || appId === '') throw appError('KEY_REQUIRED', { message: 'appId is required.' });
    if (!(await this.failedCredentials.exists(appId, clientNetworkOf(clientAddress))))
      throw appError('NOT_FOUND', { message: 'There is no such application.' });
    const { pushUrls } = this.config;
    const urls = pushUrls ?? (await this.#connectorUrls());
    const ttl = pushUrls === undefined ? FOUND_TTL_SECONDS : SET_TTL_SECONDS;
    return { groupId: 'gatepost', ...urls, ttl };
  }

  /** Connectors on the API's host. @throws AppError SERVICE_UNAVAILABLE where none is running */
  async #connectorUrls(): Promise<PushUrls> {
    const { ports } = await this.#found.get('ports');
    this.#turn += 1;
    const [server, secondary] = [this.#turn, this.#turn + 1].map((turn) => ports[turn % ports.length]);
    if (server === undefined || secondary === undefined)
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error('no connector is running') });
    const { baseUrl } = this.config;
    return { server: pushUrlBeside(baseUrl, server), secondary: pushUrlBeside(baseUrl, secondary) };
  }
}
