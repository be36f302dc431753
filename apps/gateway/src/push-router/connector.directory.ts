import { Inject, Injectable } from '@nestjs/common';
import { RecentReads } from '#bootstrap';
import { pushRpc } from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { pushUrlBeside, type PushUrls } from './push-route.js';

/** The connectors that live, on the API's host: for installations where nobody has set an address. */
@Injectable()
export class ConnectorDirectory {
  readonly #found = new RecentReads(() => this.rpc.call(pushRpc.findConnectors, {}));
  /** Devices are told of connectors in turn. */
  #turn = 0;

  constructor(
    private readonly rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) private readonly config: Pick<GatewayConfig, 'baseUrl'>,
  ) {}

  /** @throws AppError SERVICE_UNAVAILABLE where none is there */
  async urls(): Promise<PushUrls> {
    const { ports } = await this.#found.get('ports');
    this.#turn += 1;
    const [server, secondary] = [this.#turn, this.#turn + 1].map((turn) => ports[turn % ports.length]);
    if (server === undefined || secondary === undefined)
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error('no connector runs') });
    const { baseUrl } = this.config;
    return { server: pushUrlBeside(baseUrl, server), secondary: pushUrlBeside(baseUrl, secondary) };
  }
}
