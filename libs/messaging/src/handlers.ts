import { Logger } from '@nestjs/common';
import type { MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';
import { appError, toAppError } from '#errors';
import { continueTrace, type Metrics, reportError } from '#observability';
import { decodeRequest, encodeError, encodeReply } from './envelope.js';
import { Forwarded } from './forwarded.js';
import { assertFits } from './message-size.js';
import type { EventMessage } from './transport.js';
import { UnparseableEvent } from './unparseable-event.js';

type FindHandler = (pattern: string) => MessageHandler | null;
type RpcDurations = Metrics['rpcHandled'];

const logger = new Logger('Rpc');

async function invoke(handler: MessageHandler, data: unknown): Promise<unknown> {
  const result: unknown = await handler(data);
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

/** Answers one RPC: with a reply text, an error's where the handler failed, or with the question that another service gets. */
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

/** The answer to an RPC that is not even read. */
export function refuseRequest(reason: string, durations?: RpcDurations): string {
  const error = appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });
  reportError(logger, error, {});
  durations?.observe({ pattern: 'refused', outcome: error.errorName }, 0);
  return encodeError(error);
}

/** The answer to whoever asked where a question cannot be forwarded. */
export function failForwarded(reason: string): string {
  const error = appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });
  reportError(logger, error, {});
  return encodeError(error);
}

/** Hands an event to its handler; rejects where it could not be handled, with UnparseableEvent where it never can be. */
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
  assertFits(reply);
  return reply;
}

/** Reports what goes wrong around a handler; what it throws itself, its filter has reported. */
function reporting<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const error = toAppError(thrown);
    reportError(logger, error, {});
    throw error;
  }
}
