import type { CustomTransportStrategy, Server } from '@nestjs/microservices';
import { z } from 'zod';
import type { RpcContract, RpcData, RpcReply } from '#contracts';
import { appError, AppError, fromWireError, toWireError } from '#errors';
import { currentTraceparent } from '#observability';

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

/** The longest message, in bytes. RabbitMQ 4 closes the channel on more than 16 MiB. */
export const MAX_MESSAGE_BYTES = 12 * 1_024 * 1_024;

/** @throws AppError OBJECT_TOO_LARGE where the text is longer than a message may be */
export function assertFits(text: string | Buffer): void {
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES) throw appError('OBJECT_TOO_LARGE');
}

/** An event that no attempt can handle: it is no JSON, or breaks its contract. */
export class UnparseableEvent extends Error {
  /** Parses an event's body. */
  static orJson(body: string): unknown {
    try {
      return JSON.parse(body);
    } catch (cause) {
      throw new UnparseableEvent('the event is no JSON', { cause });
    }
  }

  /** Whether this, or what an error filter made of it. */
  static isBehind(error: unknown): boolean {
    return error instanceof UnparseableEvent || (error instanceof AppError && error.cause instanceof UnparseableEvent);
  }
}

const requestEnvelope = z.object({
  pattern: z.string(),
  data: z.unknown(),
  /** The asker's span, where there is one. Older versions neither send nor read it; what is no text is passed over. */
  traceparent: z.string().optional().catch(undefined),
});
const replyEnvelope = z.union([z.object({ error: z.unknown() }), z.object({ data: z.unknown() })]);

type RequestEnvelope = z.output<typeof requestEnvelope>;

/** A question as text, with the trace that it belongs to. */
export function encodeRequest({ pattern, data }: Pick<RequestEnvelope, 'pattern' | 'data'>): string {
  return JSON.stringify({ pattern, data, traceparent: currentTraceparent() });
}

/** @throws AppError INTERNAL where the text is no request */
export function decodeRequest(text: string): RequestEnvelope {
  return parse(requestEnvelope, text);
}

export function encodeReply(data: unknown): string {
  return JSON.stringify({ data });
}

export function encodeError(error: AppError): string {
  return JSON.stringify({ error: toWireError(error) });
}

/** @throws AppError the one that the other side answered with, or INTERNAL where the text is no reply */
export function decodeReply(text: string): unknown {
  const reply = parse(replyEnvelope, text);
  if ('error' in reply) throw fromWireError(reply.error);
  return reply.data;
}

function parse<T>(envelope: z.ZodType<T>, text: string): T {
  try {
    return envelope.parse(JSON.parse(text));
  } catch (cause) {
    throw appError('INTERNAL', { cause });
  }
}

/**
 * What a handler returns instead of a reply: the question goes on to another service, and that one answers whoever asked.
 * Nothing comes back this way, so nothing waits here.
 */
export class Forwarded<Reply = unknown> {
  /** Only for the compiler: the answer that the asking side will get. */
  declare protected readonly reply: Reply;

  constructor(
    readonly pattern: string,
    /** The question as text. */
    readonly body: string,
  ) {}
}

/**
 * Hands a question on to the service that owns the contract. The deadline stays that of whoever asked first.
 * @throws AppError OBJECT_TOO_LARGE where it does not fit into a message
 */
export function forward<C extends RpcContract>(contract: C, data: RpcData<C>): Forwarded<RpcReply<C>> {
  const body = encodeRequest({ pattern: contract.pattern, data });
  assertFits(body);
  return new Forwarded(contract.pattern, body);
}
