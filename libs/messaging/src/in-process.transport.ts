import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import { appError, isAppError, messageOf, withTimeout } from '#errors';
import { answerRequest, deliverEvent } from './handlers.js';
import {
  assertFits,
  type BroadcastListener,
  type EventMessage,
  type DirectMessage,
  type NodeReceiver,
  RefusedEvent,
  type Transport,
} from './transport.js';

class InProcessServer extends Server implements CustomTransportStrategy {
  listen(callback: () => void): void {
    callback();
  }

  close(): void {
    // Nothing to close: the HTTP server waits for the replies of requests in progress.
  }

  on(): never {
    throw new Error('the in-process transport has no events');
  }

  unwrap(): never {
    throw new Error('the in-process transport has no connection');
  }
}

/** As over the broker; the outbox makes events durable. Publishing ends with the handlers: RefusedEvent where one fails, unless with SERVICE_UNAVAILABLE. */
export class InProcessTransport implements Transport {
  readonly #servers: InProcessServer[] = [];
  readonly #listeners = new Map<string, BroadcastListener[]>();
  readonly #nodes = new Map<string, NodeReceiver>();
  /** Events are handled one after the other, in the order of a queue. */
  #lastEvent: Promise<void> = Promise.resolve();

  async request(pattern: string, body: string, timeoutMs: number): Promise<string> {
    assertFits(body);
    return withTimeout(this.#answer(body), timeoutMs, () => {
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error(`${pattern} gave no answer in ${timeoutMs} ms`) });
    });
  }

  async publishEvent(message: EventMessage): Promise<void> {
    const handled = this.#lastEvent.then(() => this.#deliver(message));
    this.#lastEvent = handled.catch(() => undefined);
    return handled;
  }

  broadcast(pattern: string, body: string): void {
    for (const listener of this.#listeners.get(pattern) ?? []) setImmediate(listener, body);
  }

  onBroadcast(pattern: string, listener: BroadcastListener): void {
    this.#listeners.set(pattern, [...(this.#listeners.get(pattern) ?? []), listener]);
  }

  async sendToNode(node: string, message: DirectMessage): Promise<void> {
    assertFits(message.body);
    await this.#nodes.get(node)?.receive(message);
  }

  receiveAsNode(node: string, receiver: NodeReceiver): void {
    this.#nodes.set(node, receiver);
    receiver.connected();
  }

  problem(): string | undefined {
    return undefined;
  }

  createServer(): InProcessServer {
    const server = new InProcessServer();
    this.#servers.push(server);
    return server;
  }

  async close(): Promise<void> {
    await this.#lastEvent;
  }

  async #answer(body: string): Promise<string> {
    const answer = await answerRequest(body, (wanted) => this.#find(wanted));
    return typeof answer === 'string' ? answer : this.#answer(answer.body);
  }

  async #deliver(message: EventMessage): Promise<void> {
    for (const server of this.#servers) {
      const handler = server.getHandlers().get(message.pattern);
      if (handler?.isEventHandler) await deliverEvent(message, handler).catch(refuse);
    }
  }

  #find(pattern: string): MessageHandler | null {
    for (const server of this.#servers) {
      const handler = server.getHandlers().get(pattern);
      if (handler !== undefined) return handler;
    }
    return null;
  }
}

function refuse(error: unknown): never {
  if (isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
  throw new RefusedEvent(messageOf(error), { cause: error });
}
