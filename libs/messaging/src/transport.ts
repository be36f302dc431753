import type { CustomTransportStrategy, Server } from '@nestjs/microservices';

/** What a message is a consequence of: it is told in logs and traces, and nothing depends on it. */
export interface MessageOrigin {
  /** The id of the HTTP request. */
  readonly requestId?: string | undefined;
  /** The sender's span. */
  readonly traceparent?: string | undefined;
}

/** An event on its way to its subscribers. */
export interface EventMessage extends MessageOrigin {
  /** Stable over redeliveries; consumers know by it what they have done already. */
  readonly id: string;
  readonly pattern: string;
  /** The payload as JSON. */
  readonly body: string;
}

export type BroadcastListener = (body: string) => void;

/** A message for one process. */
export interface NodeMessage extends Pick<MessageOrigin, 'traceparent'> {
  readonly pattern: string;
  readonly body: string;
}

/** Takes what is sent to one process by its name. */
export interface NodeReceiver {
  /** A failure is logged; the message is not delivered again. */
  receive(message: NodeMessage): Promise<void>;
  /** Messages may have been lost before this moment, and from now on come: at the first connection, and after each loss. */
  connected(): void;
}

/** The part of a transport that asks. */
export interface Requester {
  /** Asks the service that owns the pattern. Rejects with SERVICE_UNAVAILABLE where no answer comes in time. */
  request(pattern: string, body: string, timeoutMs: number): Promise<string>;
}

/** Moves messages between services. One implementation over RabbitMQ, one inside a process. */
export interface Transport extends Requester {
  /** Resolves once the event is safe with the broker, or, in one process, was handled. */
  publishEvent(message: EventMessage): Promise<void>;
  /** Tells every process, best effort. */
  broadcast(pattern: string, body: string): void;
  onBroadcast(pattern: string, listener: BroadcastListener): void;
  /**
   * Sends a message to the process of this name. Resolves once the broker has it; also where no such process is, which loses it.
   * Rejects with SERVICE_UNAVAILABLE where the broker is away, or where the process is too far behind.
   */
  sendToNode(node: string, message: NodeMessage): Promise<void>;
  /** Makes this process the one of that name. */
  receiveAsNode(node: string, receiver: NodeReceiver): void;
  /** Why it does not move messages now, in words for operators; undefined where it does. */
  problem(): string | undefined;
  /** The Nest microservice strategy by which the named service receives RPCs and events. */
  createServer(service: string): Server & CustomTransportStrategy;
  close(): Promise<void>;
}

export const TRANSPORT = Symbol('Transport');
