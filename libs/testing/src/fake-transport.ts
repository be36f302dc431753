import type { RpcContract, RpcData, RpcReply } from '#contracts';
import { appError, toAppError, toWireError } from '#errors';
import { InProcessTransport } from '#messaging';

type Server = ReturnType<InProcessTransport['createServer']>;

interface PlannedAnswer {
  readonly contract: RpcContract;
  /** Returns the text of the reply. */
  readonly answer: (request: unknown) => Promise<string>;
}

/** A call as the called service receives it. */
interface RecordedCall {
  readonly pattern: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A handler that the process has registered. */
interface RegisteredHandler {
  readonly pattern: string;
  readonly isEvent: boolean;
}

/**
 * Replaces the services that a process calls. A test plans the answers by contract: the compiler checks them, and the schemas of the
 * contract parse every request and reply. A call without a planned answer fails. The transport records the calls of the process and the
 * handlers that the process registers.
 */
export class FakeTransport extends InProcessTransport {
  readonly calls: RecordedCall[] = [];
  readonly handlers: RegisteredHandler[] = [];
  isConnected = true;
  readonly #answers = new Map<string, PlannedAnswer>();

  /** @param omitted contracts that `calledPatterns` leaves out */
  constructor(private readonly omitted: readonly RpcContract[] = []) {
    super();
  }

  /** Plans the answer to calls of the contract. An error that `answer` throws reaches the caller as an error of the service. */
  answer<C extends RpcContract>(
    contract: C,
    answer: (request: RpcData<C>) => RpcReply<C> | Promise<RpcReply<C>>,
  ): this {
    this.#answers.set(contract.pattern, {
      contract,
      answer: async (request) => {
        const reply = await answer(request as RpcData<C>);
        return JSON.stringify({ data: contract.reply.parse(reply) });
      },
    });
    return this;
  }

  /** Plans an error as the answer to calls of the contract. */
  fail(contract: RpcContract, error: Error): this {
    this.#answers.set(contract.pattern, { contract, answer: () => Promise.reject(error) });
    return this;
  }

  /** Plans the text of the reply, which may violate the contract. */
  answerText(contract: RpcContract, text: string): this {
    this.#answers.set(contract.pattern, { contract, answer: () => Promise.resolve(text) });
    return this;
  }

  /** The patterns of the calls, in their order. */
  get calledPatterns(): string[] {
    const omitted = new Set(this.omitted.map(({ pattern }) => pattern));
    return this.calls.map(({ pattern }) => pattern).filter((pattern) => !omitted.has(pattern));
  }

  /** The requests of the calls of one contract. */
  requestsOf<C extends RpcContract>(contract: C): RpcData<C>[] {
    return this.calls.filter(({ pattern }) => pattern === contract.pattern).map(({ data }) => data as RpcData<C>);
  }

  override async request(pattern: string, body: string): Promise<string> {
    const { data } = JSON.parse(body) as Pick<RecordedCall, 'data'>;
    const planned = this.#answers.get(pattern);
    const parsed = planned?.contract.request.safeParse(data);
    const received = parsed?.success ? (parsed.data as RecordedCall['data']) : data;
    this.calls.push({ pattern, data: received });
    try {
      if (planned === undefined) throw appError('INTERNAL', { message: `The test plans no answer to ${pattern}.` });
      if (parsed?.error !== undefined) throw appError('INCORRECT_TYPE', { message: parsed.error.message });
      return await planned.answer(received);
    } catch (thrown) {
      return JSON.stringify({ error: toWireError(toAppError(thrown)) });
    }
  }

  override problem(): string | undefined {
    return this.isConnected ? undefined : 'not connected';
  }

  override createServer(): Server {
    const server = super.createServer();
    const addHandler = server.addHandler.bind(server);
    server.addHandler = (pattern: unknown, callback, isEvent = false, extras = {}) => {
      this.handlers.push({ pattern: String(pattern), isEvent });
      addHandler(pattern, callback, isEvent, extras);
    };
    return server;
  }
}
