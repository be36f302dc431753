import { AppError } from './errors.js';

/** The text of any thrown value, for logs and operators. It may contain details that clients must not see. */
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

/** Whether an operation failed because its server is unreachable; false where the server replied with a refusal. */
export function isServerAway(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof ServerAway;
}
