import type { RpcClient } from '#messaging';
import type { RpcContract, RpcReply } from '#contracts';

/** What the command line knows of the processes behind the connection. */
export interface Deployment {
  /** Whether every service runs in one process. */
  readonly isOneProcess: boolean;
  /** How many processes answer for a service. */
  replicas(service: string): Promise<number>;
  /** Events that wait for a service at the broker. */
  waitingEvents(service: string): Promise<number>;
  /** Events that it gave up. */
  deadEvents(service: string): Promise<number>;
  /** Of the message broker, where there is one. */
  readonly brokerVersion: string | undefined;
  /** Why the message broker moves no messages; undefined where it does. */
  brokerProblem(): string | undefined;
}

/** Everything in one process: no broker. */
export const ONE_PROCESS: Deployment = {
  isOneProcess: true,
  replicas: () => Promise.resolve(1),
  waitingEvents: () => Promise.resolve(0),
  deadEvents: () => Promise.resolve(0),
  brokerVersion: undefined,
  brokerProblem: () => undefined,
};

/** The broker deals questions out in turn; other questions come in between. */
const QUESTIONS_PER_REPLICA = 4;

interface Told {
  readonly instance: string;
}

type AskingContract = RpcContract & { readonly reply: { readonly _output: Told } };

/** Answers from every process of a service. */
interface Replies<C extends RpcContract> {
  readonly answers: RpcReply<C>[];
  /** How many processes there are. They may be more than have answered. */
  readonly expected: number;
}

/**
 * Asks until every process of a service has answered, or enough was asked. Processes are told apart by `instance`.
 * @throws SilentServiceError where none answers
 */
export async function askReplicas<C extends AskingContract>(
  rpc: RpcClient,
  deployment: Deployment,
  contract: C,
): Promise<Replies<C>> {
  const [service = ''] = contract.pattern.split('.', 1);
  const expected = await deployment.replicas(service);
  const answers = new Map<string, RpcReply<C>>();
  for (let asked = 0; asked < Math.max(1, expected * QUESTIONS_PER_REPLICA); asked += 1) {
    const answer = await rpc.call(contract, {} as never);
    answers.set((answer as Told).instance, answer);
    if (answers.size >= expected) break;
  }
  return { answers: [...answers.values()], expected };
}
