import {
  applyDecorators,
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Logger,
  type PipeTransform,
  UseFilters,
  UsePipes,
} from '@nestjs/common';
import { EventPattern, type MessageHandler, MessagePattern } from '@nestjs/microservices';
import { isObservable, lastValueFrom, type Observable, throwError } from 'rxjs';
import { z } from 'zod';
import type {
  DirectMessageContract,
  DirectMessagePayload,
  EventContract,
  EventPayload,
  RpcContract,
  RpcData,
  RpcReply,
} from '#contracts';
import { appError, toAppError } from '#errors';
import { continueTrace, type Metrics, reportError, type ReportFields } from '#observability';
import {
  assertFits,
  decodeRequest,
  encodeError,
  encodeReply,
  type EventMessage,
  Forwarded,
  type MaybeEncoded,
  UnparseableEvent,
} from './transport.js';

type FindHandler = (pattern: string) => MessageHandler | null;
type RpcDurations = Metrics['rpcHandled'];

const logger = new Logger('Rpc');

async function invoke(handler: MessageHandler, data: unknown): Promise<unknown> {
  const result: unknown = await handler(data);
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

export async function answerRequest(
  text: string,
  find: FindHandler,
  durations?: RpcDurations,
): Promise<string | Forwarded> {
  const receivedAt = performance.now();
  let pattern = 'malformed';
  let outcome = 'ok';
  try {
    const asked = reporting(() => readRequest(text, find));
    pattern = asked.pattern;
    return await continueTrace(asked.traceparent, { name: pattern, kind: 'server' }, async () => {
      const result = await invoke(asked.handler, asked.data);
      return result instanceof Forwarded ? result : reporting(() => fittingReply(result));
    });
  } catch (thrown) {
    const error = toAppError(thrown);
    outcome = error.errorName;
    return encodeError(error);
  } finally {
    durations?.observe({ pattern, outcome }, (performance.now() - receivedAt) / 1_000);
  }
}

export function refuseRequest(reason: string, durations?: RpcDurations): string {
  const error = appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });
  reportError(logger, error, {});
  durations?.observe({ pattern: 'refused', outcome: error.errorName }, 0);
  return encodeError(error);
}

export function failForwarded(reason: string): string {
  const error = appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });
  reportError(logger, error, {});
  return encodeError(error);
}

export async function deliverEvent(
  { id, pattern, body, requestId, traceparent }: EventMessage,
  handler: MessageHandler,
): Promise<void> {
  const span = { name: `${pattern} process`, kind: 'consumer', attributes: { 'messaging.message.id': id } } as const;
  await continueTrace(traceparent, span, () =>
    invoke(handler, { id, requestId, payload: UnparseableEvent.orJson(body) }),
  );
}

function readRequest(text: string, find: FindHandler) {
  const { pattern, data, traceparent } = decodeRequest(text);
  const handler = find(pattern);
  if (handler === null) throw appError('SERVICE_UNAVAILABLE', { cause: new Error(`no handler for ${pattern}`) });
  return { pattern, data, traceparent, handler };
}

function fittingReply(result: unknown): string {
  const reply = encodeReply(result);
  assertFits(reply, { message: 'The answer is too large. Set a lower limit, or name the needed fields in keys.' });
  return reply;
}

/** Reports errors outside of the handler; the exception filter has already reported the handler's own errors. */
function reporting<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const error = toAppError(thrown);
    reportError(logger, error, {});
    throw error;
  }
}

type Refuse = (reason: string) => Error;

/** Validates incoming messages against the contract: the trust boundary of a service. */
class ContractPipe implements PipeTransform {
  private constructor(
    private readonly schema: z.ZodType,
    private readonly refuse: Refuse,
  ) {}

  static forRpc(schema: z.ZodType): ContractPipe {
    return new ContractPipe(schema, (message) => appError('INCORRECT_TYPE', { message }));
  }

  static forEvent(schema: z.ZodType): ContractPipe {
    return new ContractPipe(schema, (reason) => new UnparseableEvent(reason));
  }

  transform(value: unknown): unknown {
    const parsed = this.schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw this.refuse(describe(parsed.error));
  }
}

function describe(error: z.ZodError): string {
  const [first] = error.issues;
  return first === undefined
    ? 'The request is malformed.'
    : `${first.path.join('.') || 'The request'}: ${first.message}`;
}

/** Keeps the code of an AppError on its way through Nest, and logs the cause of any other error once. */
@Catch()
export class WireErrorFilter implements ExceptionFilter {
  readonly #logger = new Logger('Rpc');

  catch(thrown: unknown, host: ArgumentsHost): Observable<never> {
    const error = toAppError(thrown);
    reportError(this.#logger, error, originOf(host.switchToRpc().getData()));
    return throwError(() => error);
  }
}

interface MessageData {
  readonly caller?: { readonly requestId?: unknown };
  readonly id?: unknown;
  readonly payload?: unknown;
  readonly requestId?: unknown;
}

function originOf(data: unknown): ReportFields {
  const { caller, id, payload, requestId }: MessageData = data ?? {};
  if (typeof caller?.requestId === 'string') return { requestId: caller.requestId };
  // The `id` of other messages identifies something else, such as an application.
  if (payload === undefined || typeof id !== 'string') return {};
  return typeof requestId === 'string' ? { messageId: id, requestId } : { messageId: id };
}

/** An event as its handler receives it. The same id may arrive again; `Inbox.once` detects repetitions. */
export interface ReceivedEvent<C extends EventContract> {
  readonly id: string;
  readonly payload: EventPayload<C>;
}

type EventMethod<C extends EventContract> = (event: ReceivedEvent<C>) => Promise<void>;

/** Subscribes a controller method to an event. Where its promise rejects, the event is retried, and finally dead-lettered. */
export function EventHandler<C extends EventContract>(contract: C) {
  const decorate = applyDecorators(
    EventPattern(contract.pattern) as MethodDecorator,
    UsePipes(ContractPipe.forEvent(z.object({ id: z.uuid(), payload: contract.payload }))),
    UseFilters(WireErrorFilter),
  );
  return (target: object, key: string, descriptor: TypedPropertyDescriptor<EventMethod<C>>): void => {
    decorate(target, key, descriptor);
  };
}

type RpcMethod<C extends RpcContract> = (data: RpcData<C>) => Promise<MaybeEncoded<C> | Forwarded<RpcReply<C>>>;

/** Binds a controller method to a contract. The compiler checks the method against the contract's types. */
export function RpcHandler<C extends RpcContract>(contract: C) {
  const decorate = applyDecorators(
    MessagePattern(contract.pattern),
    UsePipes(ContractPipe.forRpc(contract.request)),
    UseFilters(WireErrorFilter),
  );
  return <Method extends RpcMethod<C>>(
    target: object,
    key: string,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    decorate(target, key, descriptor);
  };
}

export interface DirectMessageHandler {
  readonly contract: DirectMessageContract;
  readonly handle: (payload: unknown) => Promise<void> | void;
}

export function directMessageHandler<C extends DirectMessageContract>(
  contract: C,
  handle: (payload: DirectMessagePayload<C>) => Promise<void> | void,
): DirectMessageHandler {
  return { contract, handle: (payload) => handle(contract.payload.parse(payload) as DirectMessagePayload<C>) };
}
