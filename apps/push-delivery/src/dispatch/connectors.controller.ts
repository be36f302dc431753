import { Controller, Inject } from '@nestjs/common';
import { pushRpc, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { CONNECTOR_NODES, type ConnectorNodes } from '../connector-nodes/connector-nodes.js';

@Controller()
export class ConnectorsController {
  constructor(@Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes) {}

  @RpcHandler(pushRpc.findConnectors)
  async find(): Promise<RpcReply<typeof pushRpc.findConnectors>> {
    return { ports: (await this.connectors.live()).map(({ port }) => port) };
  }
}
