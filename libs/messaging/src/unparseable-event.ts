import { AppError } from '#errors';

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
