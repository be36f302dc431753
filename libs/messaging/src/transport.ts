import { setImmediate } from 'node:timers/promises';
import type { CustomTransportStrategy, Server } from '@nestjs/microservices';
import type { RpcContract, RpcData, RpcReply } from '#contracts';
import { appError, AppError, fromWireError, toWireError } from '#errors';
import { currentTraceparent } from '#observability';

/** The origin of a message, for logs and traces only. */
export interface MessageOrigin {
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** Header of a dead letter: the error of its last attempt. */
export const REASON_HEADER = 'x-gatepost-reason';
const TRACEPARENT = 'traceparent';
const REQUEST_ID = 'x-gatepost-request-id';

export function originHeaders({ requestId, traceparent }: MessageOrigin): Record<string, string> {
  return {
    ...(traceparent !== undefined && { [TRACEPARENT]: traceparent }),
    ...(requestId !== undefined && { [REQUEST_ID]: requestId }),
  };
}

export function originFrom(headers: Readonly<Record<string, unknown>> | undefined): MessageOrigin {
  return { traceparent: textOf(headers?.[TRACEPARENT]), requestId: textOf(headers?.[REQUEST_ID]) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export interface EventMessage extends MessageOrigin {
  /** Stable over redeliveries, so that consumers detect repetitions. */
  readonly id: string;
  readonly pattern: string;
  readonly body: string;
}

export type BroadcastListener = (body: string) => void;

export interface DirectMessage extends Pick<MessageOrigin, 'traceparent'> {
  readonly pattern: string;
  readonly body: string;
}

export interface NodeReceiver {
  /** A failure is logged; the message is not delivered again. */
  receive(message: DirectMessage): Promise<void>;
  /** Called at the first connection and after each loss: messages may have been lost before, and new ones arrive from now on. */
  connected(): void;
}

export interface RpcTransport {
  /** Calls the service that owns the pattern. Rejects with SERVICE_UNAVAILABLE where no reply arrives in time. */
  request(pattern: string, body: string, timeoutMs: number): Promise<string>;
}

/** Transports messages between services, over RabbitMQ or inside a process. */
export interface Transport extends RpcTransport {
  /** Resolves once the event is stored or, in a process, handled; only the outbox relay calls it. Rejects after a refusal or 5 s: it may be stored then. */
  publishEvent(message: EventMessage): Promise<void>;
  broadcast(pattern: string, body: string): void;
  onBroadcast(pattern: string, listener: BroadcastListener): void;
  /** Resolves once the broker has accepted the message, even without such a process; SERVICE_UNAVAILABLE where the queue is full. */
  sendToNode(node: string, message: DirectMessage): Promise<void>;
  receiveAsNode(node: string, receiver: NodeReceiver): void;
  /** The reason why the transport does not work now, worded for operators; undefined where it works. */
  problem(): string | undefined;
  /** The Nest microservice strategy that receives the RPCs and events of the named service. */
  createServer(service: string): Server & CustomTransportStrategy;
  close(): Promise<void>;
}

export const TRANSPORT = Symbol('Transport');

/** Maximum size of a message, in bytes. RabbitMQ 4 closes the channel at more than 16 MiB. */
export const MAX_MESSAGE_BYTES = 12 * 1_024 * 1_024;

export function assertFits(text: string | Buffer, options: { readonly message?: string } = {}): void {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (text.length * 3 > MAX_MESSAGE_BYTES && Buffer.byteLength(text) > MAX_MESSAGE_BYTES)
    throw appError('OBJECT_TOO_LARGE', options);
}

/** The transport works, but a handler inside the process has failed with this event. */
export class RefusedEvent extends Error {}

/** An event that every attempt would fail to handle: it is not JSON, or violates its contract. */
export class UnparseableEvent extends Error {
  static orJson(body: string): unknown {
    try {
      return JSON.parse(body);
    } catch (cause) {
      throw new UnparseableEvent('the event is not JSON', { cause });
    }
  }

  /** Whether the error is an UnparseableEvent, or an error filter's conversion of one. */
  static isBehind(error: unknown): boolean {
    return error instanceof UnparseableEvent || (error instanceof AppError && error.cause instanceof UnparseableEvent);
  }
}

/** A request on the wire. These members are checked by hand: a schema's parser costs more than the rest of a small message. */
interface RequestEnvelope {
  readonly pattern: string;
  readonly data: unknown;
  /** The span of the caller, if any. Older versions do not have this member; a value that is not a string is ignored. */
  readonly traceparent: string | undefined;
}

export function encodeRequest({ pattern, data }: Pick<RequestEnvelope, 'pattern' | 'data'>): string {
  return JSON.stringify({ pattern, data, traceparent: currentTraceparent() });
}

export function decodeRequest(text: string): RequestEnvelope {
  const { pattern, data, traceparent } = membersOf(text);
  if (typeof pattern !== 'string') throw malformed('a request without a pattern');
  return { pattern, data, traceparent: typeof traceparent === 'string' ? traceparent : undefined };
}

export function encodeReply(data: unknown): string {
  return data instanceof EncodedReply ? `${DATA}${data.json}}` : JSON.stringify({ data });
}

const DATA = '{"data":';

export function encodeError(error: AppError): string {
  return JSON.stringify({ error: toWireError(error) });
}

export function decodeReply(text: string): unknown {
  const reply = membersOf(text);
  if (reply['error'] !== undefined) throw fromWireError(reply['error']);
  return reply['data'];
}

/** The object that a reply contains, as JSON, without parsing it. @throws as `decodeReply` */
export function jsonOfReply(text: string): string {
  if (text.startsWith(`${DATA}{`) && text.endsWith('}}')) return text.slice(DATA.length, -1);
  decodeReply(text);
  throw malformed('a reply without an object');
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw appError('INTERNAL', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('a message that is no object');
  return value as Readonly<Record<string, unknown>>;
}

function malformed(what: string): AppError {
  return appError('INTERNAL', { cause: new Error(`received ${what}`) });
}

/** The result of a handler that forwards its request: the next service replies to the original caller directly. */
export class Forwarded<Reply = unknown> {
  /** For the compiler only: the reply that the caller will receive. */
  declare protected readonly reply: Reply;

  constructor(
    readonly pattern: string,
    readonly body: string,
  ) {}
}

/** The deadline of the original caller still applies. @throws AppError OBJECT_TOO_LARGE */
export function forward<C extends RpcContract>(contract: C, data: RpcData<C>): Forwarded<RpcReply<C>> {
  const body = encodeRequest({ pattern: contract.pattern, data });
  assertFits(body);
  return new Forwarded(contract.pattern, body);
}

export class EncodedReply<Reply = unknown> {
  declare protected readonly reply: Reply;

  constructor(readonly json: string) {}
}

export type MaybeEncoded<C extends RpcContract> = RpcReply<C> | EncodedReply<RpcReply<C>>;

const RESULTS_AT_ONCE = 100;

/** Encodes a long list in pieces, so that other requests do not wait for the whole. A short list stays as it is. */
export async function listReply<List extends { readonly results: readonly object[] }>(
  list: List,
): Promise<List | EncodedReply<List>> {
  const { results, ...others } = list;
  if (results.length <= RESULTS_AT_ONCE) return list;
  const pieces: string[] = [];
  for (let from = 0; from < results.length; from += RESULTS_AT_ONCE) {
    pieces.push(JSON.stringify(results.slice(from, from + RESULTS_AT_ONCE)).slice(1, -1));
    await setImmediate();
  }
  const end = JSON.stringify({ results: [], ...others }).slice('{"results":['.length);
  return new EncodedReply(`{"results":[${pieces.join(',')}${end}`);
}
