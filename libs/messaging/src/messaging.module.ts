import { type DynamicModule, Inject, Injectable, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import type {
  EventContract,
  EventPayload,
  DirectMessageContract,
  DirectMessagePayload,
  RpcContract,
  RpcData,
  RpcReply,
} from '#contracts';
import { messageOf } from '#errors';
import { continueTrace, currentTraceparent, inSpan, Readiness } from '#observability';
import type { DirectMessageHandler } from './handlers.js';
import { decodeReply, encodeRequest, jsonOfReply, type RpcTransport, TRANSPORT, type Transport } from './transport.js';

@Injectable()
export class RpcClient {
  constructor(@Inject(TRANSPORT) private readonly transport: RpcTransport) {}

  /** @throws AppError the error of the service that owns the contract, or SERVICE_UNAVAILABLE after the contract's timeout */
  async call<C extends RpcContract>(contract: C, data: RpcData<C>): Promise<RpcReply<C>> {
    return this.#request(contract, data, (reply) => contract.reply.parse(decodeReply(reply)) as RpcReply<C>);
  }

  /** As `call`, for a caller that passes the reply on: its JSON, unread. */
  async callForJson<C extends RpcContract>(contract: C, data: RpcData<C>): Promise<string> {
    return this.#request(contract, data, jsonOfReply);
  }

  #request<Read>({ pattern, timeoutMs }: RpcContract, data: unknown, read: (reply: string) => Read): Promise<Read> {
    return inSpan({ name: pattern, kind: 'client' }, async () =>
      read(await this.transport.request(pattern, encodeRequest({ pattern, data }), timeoutMs)),
    );
  }
}

/** Best-effort broadcasts to every process: no code may rely on the arrival of one, and one that is malformed is ignored. */
@Injectable()
export class Broadcasts {
  constructor(@Inject(TRANSPORT) private readonly transport: Transport) {}

  send<C extends EventContract>(contract: C, payload: EventPayload<C>): void {
    this.transport.broadcast(contract.pattern, JSON.stringify(payload));
  }

  on<C extends EventContract>(contract: C, listener: (payload: EventPayload<C>) => void): void {
    this.transport.onBroadcast(contract.pattern, (body) => {
      const payload = contract.payload.safeParse(jsonOf(body));
      if (payload.success) listener(payload.data as EventPayload<C>);
    });
  }
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Direct messages to one process, addressed by name. They are lost with the process, so their content must also be available elsewhere. */
@Injectable()
export class DirectMessages {
  readonly #logger = new Logger('DirectMessages');

  constructor(@Inject(TRANSPORT) private readonly transport: Transport) {}

  send<C extends DirectMessageContract>(node: string, contract: C, payload: DirectMessagePayload<C>): Promise<void> {
    const { pattern } = contract;
    return inSpan({ name: `${pattern} send`, kind: 'producer' }, () =>
      this.transport.sendToNode(node, { pattern, body: JSON.stringify(payload), traceparent: currentTraceparent() }),
    );
  }

  /** @param connected called whenever messages may have been lost before, and new ones arrive from then on */
  receiveAs(node: string, handlers: readonly DirectMessageHandler[], connected: () => void): void {
    const byPattern = new Map(handlers.map((handler) => [handler.contract.pattern, handler]));
    this.transport.receiveAsNode(node, {
      connected,
      receive: ({ pattern, body, traceparent }) =>
        continueTrace(traceparent, { name: `${pattern} process`, kind: 'consumer' }, async () => {
          await byPattern.get(pattern)?.handle(JSON.parse(body));
        }).catch((error: unknown) => {
          this.#logger.warn(`${pattern}: ${messageOf(error)}`);
        }),
    });
  }
}

@Module({})
export class MessagingModule implements OnApplicationShutdown {
  constructor(
    @Inject(TRANSPORT) private readonly transport: Transport,
    readiness: Readiness,
  ) {
    readiness.register('message broker', () => {
      const problem = transport.problem();
      if (problem !== undefined) throw new Error(problem);
    });
  }

  static forRoot(transport: Transport): DynamicModule {
    return {
      module: MessagingModule,
      global: true,
      providers: [{ provide: TRANSPORT, useValue: transport }, RpcClient, Broadcasts, DirectMessages],
      exports: [TRANSPORT, RpcClient, Broadcasts, DirectMessages],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.transport.close();
  }
}
