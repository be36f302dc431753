import { AsyncLocalStorage } from 'node:async_hooks';

export interface RequestContext {
  /** One id per HTTP request, the same in every service that works for it. */
  readonly requestId: string;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work` so that its logs and outgoing calls carry the request id. */
export function runInRequestContext<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work);
}

/** The id of the request being worked for, if any. */
export function currentRequestId(): string | undefined {
  return storage.getStore()?.requestId;
}
