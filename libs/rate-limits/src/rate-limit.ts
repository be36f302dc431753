/** So many requests within a window that begins with the first of them. */
export interface RateLimit {
  readonly count: number;
  readonly windowSeconds: number;
}

/** Reads `off` or `<count>/<seconds>`, as the environment's schema lets it through. */
export function parseRateLimit(text: string): RateLimit | undefined {
  if (text === 'off') return undefined;
  const [count = 0, windowSeconds = 0] = text.split('/').map(Number);
  return { count, windowSeconds };
}
