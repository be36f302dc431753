import { operatorSocketPath, StartError } from '#bootstrap';
import { AppError } from '#errors';
import { BrokerQueues, OperatorSocket, RabbitTransport, type Requester, RpcClient } from '#messaging';
import { type Deployment, ONE_PROCESS } from './deployment.js';

/** No process of a service answers. */
export class SilentServiceError extends Error {
  /** @param brokerProblem why the broker moves no messages, where that is the reason */
  constructor(
    readonly service: string,
    brokerProblem: string | undefined,
    options: ErrorOptions,
  ) {
    const reason = brokerProblem ?? 'GATEPOST_NAMESPACE names which deployment is meant';
    super(`No ${service} service answers. ${reason}.`, options);
  }
}

/** How the command line reaches the running server. */
export interface OperatorConnection {
  readonly rpc: RpcClient;
  readonly deployment: Deployment;
  close(): Promise<void> | void;
}

/** Does a command's work with the server, and ends the connection. */
export type WithServer = (work: (rpc: RpcClient, deployment: Deployment) => Promise<void>) => Promise<void>;

export interface OperatorTarget {
  /** Where the operator names a broker, the services behind it are meant. */
  readonly amqpUrl: string | undefined;
  readonly namespace: string;
  readonly dataDirectory: string;
}

const CONNECT_TIMEOUT_MS = 3_000;
const POLL_MS = 20;

/**
 * Connects to the services behind the broker where one is named, otherwise to the standalone server that runs on the data
 * folder. It never guesses: a command must not reach another server than the one that is meant.
 * @throws StartError where it does not answer
 */
export function connectToServer(target: OperatorTarget): Promise<OperatorConnection> {
  return target.amqpUrl === undefined
    ? connectToStandalone(target.dataDirectory)
    : connectToServices(target.amqpUrl, target.namespace);
}

async function connectToStandalone(dataDirectory: string): Promise<OperatorConnection> {
  const socket = await OperatorSocket.open(operatorSocketPath(dataDirectory));
  if (socket === undefined) {
    throw new StartError(
      `No server runs on the data in ${dataDirectory} (GATEPOST_DATA_DIR). For services, name their message broker in AMQP_URL.`,
    );
  }
  return {
    rpc: new RpcClient(socket),
    deployment: ONE_PROCESS,
    close: () => {
      socket.close();
    },
  };
}

async function connectToServices(url: string, namespace: string): Promise<OperatorConnection> {
  const transport = new RabbitTransport({ url, namespace, connectionName: 'gatepost-cli' });
  if (!(await isConnectedInTime(transport))) {
    await transport.close();
    throw new StartError('No message broker answers at AMQP_URL.');
  }
  const queues = await BrokerQueues.open(url, namespace);
  return {
    rpc: new RpcClient(namingSilence(transport)),
    deployment: { ...deploymentBehind(queues), brokerProblem: () => transport.problem() },
    close: async () => {
      await queues.close();
      await transport.close();
    },
  };
}

function deploymentBehind(queues: BrokerQueues): Omit<Deployment, 'brokerProblem'> {
  return {
    isOneProcess: false,
    replicas: (service) => queues.replicas(service),
    waitingEvents: (service) => queues.waitingEvents(service),
    deadEvents: (service) => queues.deadEvents(service),
    brokerVersion: queues.brokerVersion,
  };
}

/** @throws SilentServiceError from its requests, where nobody answers */
function namingSilence(transport: RabbitTransport): Requester {
  return {
    request: async (pattern, body, timeoutMs) => {
      try {
        return await transport.request(pattern, body, timeoutMs);
      } catch (cause) {
        if (!(cause instanceof AppError && cause.is('SERVICE_UNAVAILABLE'))) throw cause;
        throw new SilentServiceError(pattern.split('.', 1).join(), transport.problem(), { cause });
      }
    },
  };
}

async function isConnectedInTime(transport: RabbitTransport): Promise<boolean> {
  const deadline = Date.now() + CONNECT_TIMEOUT_MS;
  while (!transport.isConnected() && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  return transport.isConnected();
}
