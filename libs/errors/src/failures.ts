import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, appError, isAppError } from './errors.js';

/** For logs and operators: it may contain details that clients must not see. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The reason of a failure, for logs and operators. The cause of an AppError gives it; its public text does not. */
export function reasonOf(thrown: unknown): string {
  return messageOf(thrown instanceof AppError && thrown.cause instanceof Error ? thrown.cause : thrown);
}

/** The cause of a SERVICE_UNAVAILABLE while a server is unreachable. The readiness check of that server reports the outage. */
export class ServerAway extends Error {
  override readonly name = 'ServerAway';
}

export function isServerAway(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof ServerAway;
}

/** Resolves or rejects with the work. After the timeout the result is undefined; the work continues, and its result is ignored. */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined>;
export function withTimeout<T, U>(work: Promise<T>, timeoutMs: number, onTimeout: () => U): Promise<T | U>;
export async function withTimeout<T, U>(
  work: Promise<T>,
  timeoutMs: number,
  onTimeout?: () => U,
): Promise<T | U | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<() => U | undefined>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, () => onTimeout?.());
  });
  try {
    const first = await Promise.race([work.then((result) => () => result), timeout]);
    return first();
  } finally {
    clearTimeout(timer);
  }
}

/** Code and status are included for older receivers, which may not know the error. */
interface WireError {
  readonly kind: 'AppError';
  readonly name: string;
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : appError('INTERNAL', { cause: thrown });
}

export function toWireError(error: AppError): WireError {
  return {
    kind: 'AppError',
    name: error.errorName,
    code: error.code,
    status: error.status,
    message: error.message,
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}

function isWireError(value: unknown): value is WireError {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, name, code, status, message } = value as Record<keyof WireError, unknown>;
  return (
    kind === 'AppError' &&
    typeof name === 'string' &&
    Number.isInteger(code) &&
    Number.isInteger(status) &&
    (status as number) >= 400 &&
    (status as number) <= 599 &&
    typeof message === 'string'
  );
}

export function fromWireError(value: unknown): AppError {
  if (!isWireError(value)) return appError('INTERNAL', { cause: new Error('malformed error on the wire') });
  const { name, code, status, message, retryAfterSeconds } = value;
  return new AppError(name, {
    code,
    status,
    message,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

export async function abortableSleep(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Waiting times between attempts, each twice the last; by default from 0.1 to 5 seconds. */
export class Backoff {
  #lastMs = 0;

  constructor(
    private readonly longestMs = 5_000,
    private readonly firstMs = 100,
  ) {}

  get hasBegun(): boolean {
    return this.#lastMs > 0;
  }

  next(): number {
    this.#lastMs = Math.min(this.longestMs, Math.max(this.firstMs, 2 * this.#lastMs));
    return this.#lastMs;
  }

  reset(): void {
    this.#lastMs = 0;
  }
}

/** Repeats an attempt while a dependency is unavailable. @throws the error of the last attempt once the signal is aborted */
export async function whileUnavailable<Result>(
  attempt: () => Promise<Result>,
  backoff: Backoff,
  signal: AbortSignal,
): Promise<Result> {
  const tried = () =>
    attempt().then(
      (value) => ({ value }),
      (error: unknown) => {
        if (!isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
        return undefined;
      },
    );
  while (!signal.aborted) {
    const result = await tried();
    if (result !== undefined) return result.value;
    await abortableSleep(backoff.next(), signal);
  }
  return attempt();
}
