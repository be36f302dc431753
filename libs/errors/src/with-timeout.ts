/** Resolves or rejects with the work. After the timeout the result is undefined; the work continues, and its result is ignored. */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined>;
/** @param onTimeout returns the result after a timeout, or throws */
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
