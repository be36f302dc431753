import { AppError } from './app-error.js';

/** The cause of a SERVICE_UNAVAILABLE while a server cannot be reached. The readiness check of that server reports it. */
export class ServerAway extends Error {
  override readonly name = 'ServerAway';
}

/** Whether an operation failed because its server cannot be reached; false where the server answered and refused. */
export function isServerAway(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof ServerAway;
}
