import { AppError } from '#errors';

/** Whether it may work when it is tried again. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.is('SERVICE_UNAVAILABLE');
}
