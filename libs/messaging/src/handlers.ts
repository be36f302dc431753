import type { MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';
import { appError, toAppError } from '#errors';
import type { Metrics } from '#observability';
import { decodeRequest, encodeError, encodeReply } from './envelope.js';
import type { EventMessage } from './transport.js';

type FindHandler = (pattern: string) => MessageHandler | null;
type RpcOutcomes = Metrics['rpcHandled'];

async function invoke(handler: MessageHandler, data: unknown): Promise<unknown> {
  const result: unknown = await handler(data);
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

/** Answers one RPC: always a reply text, an error's where the handler failed. */
export async function answerRequest(text: string, find: FindHandler, outcomes?: RpcOutcomes): Promise<string> {
  let pattern = 'malformed';
  let outcome = 'ok';
  try {
    const request = decodeRequest(text);
    const handler = find(request.pattern);
    if (handler === null)
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error(`no handler for ${request.pattern}`) });
    pattern = request.pattern;
    return encodeReply(await invoke(handler, request.data));
  } catch (thrown) {
    const error = toAppError(thrown);
    outcome = error.errorName;
    return encodeError(error);
  } finally {
    outcomes?.inc({ pattern, outcome });
  }
}

/** Hands an event to its handler; rejects where it could not be handled. */
export async function deliverEvent(
  { id, body }: Omit<EventMessage, 'pattern'>,
  handler: MessageHandler,
): Promise<void> {
  await invoke(handler, { id, payload: JSON.parse(body) as unknown });
}
