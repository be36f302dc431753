import { StartError } from '#bootstrap';
import { operatorSocketPath } from '#config';
import { OperatorSocket, RabbitTransport, RpcClient } from '#messaging';
import { DEFAULT_AMQP_URL } from './cli.config.js';

/** How the command line reaches the running server. */
export interface OperatorConnection {
  readonly rpc: RpcClient;
  close(): Promise<void> | void;
}

export interface OperatorTarget {
  /** Where the operator names a broker, the services behind it are meant. */
  readonly amqpUrl: string | undefined;
  readonly namespace: string;
  readonly dataDirectory: string;
}

const CONNECT_TIMEOUT_MS = 3_000;
const POLL_MS = 20;

/**
 * Connects to the standalone server that runs on the data folder, or, where a broker is named or no such server runs, to
 * the services behind the broker.
 * @throws StartError where neither answers
 */
export async function connectToServer(target: OperatorTarget): Promise<OperatorConnection> {
  const { amqpUrl, namespace, dataDirectory } = target;
  const socket = amqpUrl === undefined ? await OperatorSocket.open(operatorSocketPath(dataDirectory)) : undefined;
  if (socket !== undefined) {
    return {
      rpc: new RpcClient(socket),
      close: () => {
        socket.close();
      },
    };
  }
  const transport = new RabbitTransport({
    url: amqpUrl ?? DEFAULT_AMQP_URL,
    namespace,
    connectionName: 'gatepost-cli',
  });
  if (!(await isConnectedInTime(transport))) {
    await transport.close();
    throw new StartError(
      amqpUrl === undefined
        ? `No server found: none runs on the data in ${dataDirectory} (GATEPOST_DATA_DIR), and no message broker answers at the usual local port (AMQP_URL).`
        : 'No server found: no message broker answers at AMQP_URL.',
    );
  }
  return { rpc: new RpcClient(transport), close: () => transport.close() };
}

async function isConnectedInTime(transport: RabbitTransport): Promise<boolean> {
  const deadline = Date.now() + CONNECT_TIMEOUT_MS;
  while (!transport.isConnected() && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  return transport.isConnected();
}
