import { Inject, Injectable, Logger } from '@nestjs/common';
import type { NodeMessageContract, NodeMessagePayload } from '#contracts';
import { messageOf } from '#errors';
import { continueTrace, currentTraceparent, inSpan } from '#observability';
import { TRANSPORT, type Transport } from './transport.js';

/** What a process does with one kind of message that is sent to it by name. */
export interface NodeMessageHandler {
  readonly contract: NodeMessageContract;
  readonly handle: (payload: unknown) => Promise<void> | void;
}

/** Makes a handler; the payload has the contract's type. */
export function nodeMessageHandler<C extends NodeMessageContract>(
  contract: C,
  handle: (payload: NodeMessagePayload<C>) => Promise<void> | void,
): NodeMessageHandler {
  return { contract, handle: (payload) => handle(contract.payload.parse(payload) as NodeMessagePayload<C>) };
}

/** Messages for one process that is known by its name. They are lost with it: what they say must be found elsewhere too. */
@Injectable()
export class NodeMessages {
  private readonly logger = new Logger('NodeMessages');

  constructor(@Inject(TRANSPORT) private readonly transport: Transport) {}

  /** @throws AppError SERVICE_UNAVAILABLE where the broker is away, or the process too far behind */
  send<C extends NodeMessageContract>(node: string, contract: C, payload: NodeMessagePayload<C>): Promise<void> {
    const { pattern } = contract;
    return inSpan({ name: `${pattern} send`, kind: 'producer' }, () =>
      this.transport.sendToNode(node, { pattern, body: JSON.stringify(payload), traceparent: currentTraceparent() }),
    );
  }

  /** @param connected called whenever messages may have been lost before, and come from then on */
  receiveAs(node: string, handlers: readonly NodeMessageHandler[], connected: () => void): void {
    const byPattern = new Map(handlers.map((handler) => [handler.contract.pattern, handler]));
    this.transport.receiveAsNode(node, {
      connected,
      receive: ({ pattern, body, traceparent }) =>
        continueTrace(traceparent, { name: `${pattern} process`, kind: 'consumer' }, async () => {
          await byPattern.get(pattern)?.handle(JSON.parse(body));
        }).catch((error: unknown) => {
          this.logger.warn(`${pattern}: ${messageOf(error)}`);
        }),
    });
  }
}
