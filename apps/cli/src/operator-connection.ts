import { setTimeout as sleep } from 'node:timers/promises';
import { operatorSocketPath, StartError } from '#bootstrap';
import { applicationsRpc, type RpcContract, type RpcReply } from '#contracts';
import { isAppError, messageOf } from '#errors';
import { BrokerQueues, OperatorSocket, RabbitTransport, type RpcClient, type RpcTransport } from '#messaging';
import { AuditedRpcClient } from './audited-calls.js';

const CONNECT_TIMEOUT_MS = 3_000;
const POLL_MS = 20;
/** The broker distributes requests in turn, among those of other clients. */
const REQUESTS_PER_REPLICA = 4;
/** A hanging process keeps its share of the requests, each for its whole timeout. */
const MAX_SILENCES = 3;

export interface Deployment {
  readonly isOneProcess: boolean;
  replicas(service: string): Promise<number>;
  waitingEvents(service: string): Promise<number>;
  deadEvents(service: string): Promise<number>;
  readonly brokerVersion: string | undefined;
  brokerProblem(): string | undefined;
}

const ONE_PROCESS: Deployment = {
  isOneProcess: true,
  replicas: () => Promise.resolve(1),
  waitingEvents: () => Promise.resolve(0),
  deadEvents: () => Promise.resolve(0),
  brokerVersion: undefined,
  brokerProblem: () => undefined,
};

interface OperatorConnection {
  readonly rpc: AuditedRpcClient;
  readonly deployment: Deployment;
  close(): Promise<void> | void;
}

export type WithServer = (work: (rpc: AuditedRpcClient, deployment: Deployment) => Promise<void>) => Promise<void>;

interface OperatorTarget {
  readonly amqpUrl: string | undefined;
  readonly namespace: string;
  readonly dataDirectory: string;
}

export class SilentServiceError extends Error {
  constructor(
    readonly service: string,
    brokerProblem: string | undefined,
    options: ErrorOptions,
  ) {
    const reason = brokerProblem ?? 'GATEPOST_NAMESPACE selects the deployment';
    super(`No ${service} service answers. ${reason}.`, options);
  }
}

/** Falls back to no other server: a command must reach the intended one. @throws StartError without a reply */
export function connectToServer(target: OperatorTarget): Promise<OperatorConnection> {
  return target.amqpUrl === undefined
    ? connectToStandalone(target.dataDirectory)
    : connectToServices(target.amqpUrl, target.namespace);
}

async function connectToStandalone(dataDirectory: string): Promise<OperatorConnection> {
  const socket = await OperatorSocket.open(operatorSocketPath(dataDirectory)).catch((cause: unknown) => {
    throw new StartError(
      `The server in ${dataDirectory} (GATEPOST_DATA_DIR) cannot be reached: ${(cause as NodeJS.ErrnoException).code}. Name its folder, and run the command as its user.`,
      { cause },
    );
  });
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
  const queues = await openQueues(transport, url, namespace).catch(async (cause: unknown) => {
    await transport.close();
    throw brokerError(cause);
  });
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

async function openQueues(transport: RabbitTransport, url: string, namespace: string): Promise<BrokerQueues> {
  if (!(await isConnectedInTime(transport))) throw new Error(transport.problem());
  return BrokerQueues.open(url, namespace);
}

export function brokerError(cause: unknown): StartError {
  return new StartError(`AMQP_URL: ${messageOf(cause)}.`, { cause });
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
  while (!transport.isConnected() && Date.now() < deadline) await sleep(POLL_MS);
  return transport.isConnected();
}

interface InstanceReply {
  readonly instance: string;
}

type PerInstanceContract = RpcContract & { readonly reply: { readonly _output: InstanceReply } };

interface Replies<C extends RpcContract> {
  readonly answers: RpcReply<C>[];
  readonly expected: number;
}

/** Without accounts the command goes on: its own service may answer. @throws AppError NOT_FOUND */
export async function assertApplication(rpc: RpcClient, id: string): Promise<void> {
  await rpc.call(applicationsRpc.get, { id }).catch((error: unknown) => {
    if (!(error instanceof SilentServiceError)) throw error;
  });
}

/** Repeats a request until every process has replied, or a limit is reached. @throws SilentServiceError if none replies */
export async function callReplicas<C extends PerInstanceContract>(
  rpc: RpcClient,
  deployment: Deployment,
  contract: C,
): Promise<Replies<C>> {
  const [service = ''] = contract.pattern.split('.', 1);
  const expected = await deployment.replicas(service);
  const answers = new Map<string, RpcReply<C>>();
  const silences: SilentServiceError[] = [];
  const record = (answer: RpcReply<C>) => answers.set((answer as InstanceReply).instance, answer);
  for (let asked = 0; asked < Math.max(1, expected * REQUESTS_PER_REPLICA); asked += 1) {
    await rpc.call(contract, {} as never).then(record, (error: unknown) => silences.push(asSilence(error)));
    if (answers.size >= expected || silences.length >= MAX_SILENCES) break;
  }
  if (answers.size === 0 && silences[0] !== undefined) throw silences[0];
  return { answers: [...answers.values()], expected };
}

function asSilence(error: unknown): SilentServiceError {
  if (error instanceof SilentServiceError) return error;
  throw error;
}
