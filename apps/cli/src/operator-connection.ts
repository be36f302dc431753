import { operatorSocketPath, StartError } from '#bootstrap';
import type { RpcContract, RpcReply } from '#contracts';
import { isAppError } from '#errors';
import { BrokerQueues, OperatorSocket, RabbitTransport, type RpcClient, type RpcTransport } from '#messaging';
import { AuditedRpcClient } from './audited-calls.js';

const CONNECT_TIMEOUT_MS = 3_000;
const POLL_MS = 20;
/** The broker distributes requests in turn; requests of other clients come in between. */
const REQUESTS_PER_REPLICA = 4;

/** The processes behind the connection. */
export interface Deployment {
  /** Whether every service runs in one process. */
  readonly isOneProcess: boolean;
  /** Number of processes of a service. */
  replicas(service: string): Promise<number>;
  /** Number of events that wait for a service at the broker. */
  waitingEvents(service: string): Promise<number>;
  /** Number of its dead letters. */
  deadEvents(service: string): Promise<number>;
  /** Undefined without a broker. */
  readonly brokerVersion: string | undefined;
  /** Why the message broker moves no messages; undefined if it does. */
  brokerProblem(): string | undefined;
}

/** All services in one process, without a broker. */
const ONE_PROCESS: Deployment = {
  isOneProcess: true,
  replicas: () => Promise.resolve(1),
  waitingEvents: () => Promise.resolve(0),
  deadEvents: () => Promise.resolve(0),
  brokerVersion: undefined,
  brokerProblem: () => undefined,
};

/** How the command line reaches the running server. */
interface OperatorConnection {
  readonly rpc: AuditedRpcClient;
  readonly deployment: Deployment;
  close(): Promise<void> | void;
}

/** Runs a command's work with the server, and closes the connection. */
export type WithServer = (work: (rpc: AuditedRpcClient, deployment: Deployment) => Promise<void>) => Promise<void>;

interface OperatorTarget {
  /** If the operator names a broker, the command reaches the services behind it. */
  readonly amqpUrl: string | undefined;
  readonly namespace: string;
  readonly dataDirectory: string;
}

/** No process of a service answers. */
export class SilentServiceError extends Error {
  /** @param brokerProblem why the broker moves no messages, if that is the reason */
  constructor(
    readonly service: string,
    brokerProblem: string | undefined,
    options: ErrorOptions,
  ) {
    const reason = brokerProblem ?? 'GATEPOST_NAMESPACE selects the deployment';
    super(`No ${service} service answers. ${reason}.`, options);
  }
}

/**
 * Connects to the services behind the broker if one is named, otherwise to the standalone server that runs on the data folder.
 * It has no fallback: a command must not reach another server than the intended one.
 * @throws StartError if the server does not answer
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
    rpc: new AuditedRpcClient(socket, () => Promise.resolve(true)),
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
  const deployment = { ...deploymentBehind(queues), brokerProblem: () => transport.problem() };
  return {
    rpc: new AuditedRpcClient(namingSilence(transport), async () => (await queues.replicas('console')) > 0),
    deployment,
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

/** Requests throw SilentServiceError if no process answers. */
function namingSilence(transport: RabbitTransport): RpcTransport {
  return {
    request: async (pattern, body, timeoutMs) => {
      try {
        return await transport.request(pattern, body, timeoutMs);
      } catch (cause) {
        if (!isAppError(cause, 'SERVICE_UNAVAILABLE')) throw cause;
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

interface InstanceReply {
  readonly instance: string;
}

type PerInstanceContract = RpcContract & { readonly reply: { readonly _output: InstanceReply } };

/** Answers from every process of a service. */
interface Replies<C extends RpcContract> {
  readonly answers: RpcReply<C>[];
  /** Number of processes, including those that have not answered. */
  readonly expected: number;
}

/**
 * Repeats a request until every process of a service has answered, or a limit is reached. `instance` identifies a process.
 * @throws SilentServiceError if none answers
 */
export async function callReplicas<C extends PerInstanceContract>(
  rpc: RpcClient,
  deployment: Deployment,
  contract: C,
): Promise<Replies<C>> {
  const [service = ''] = contract.pattern.split('.', 1);
  const expected = await deployment.replicas(service);
  const answers = new Map<string, RpcReply<C>>();
  for (let asked = 0; asked < Math.max(1, expected * REQUESTS_PER_REPLICA); asked += 1) {
    const answer = await rpc.call(contract, {} as never);
    answers.set((answer as InstanceReply).instance, answer);
    if (answers.size >= expected) break;
  }
  return { answers: [...answers.values()], expected };
}
