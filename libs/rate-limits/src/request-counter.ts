/** Requests under one key. */
export interface RequestCount {
  /** Those of the window, this one included. */
  readonly count: number;
  /** Until the window ends and counting begins anew, in milliseconds. */
  readonly resetMs: number;
}

/** Counts requests by key, each key in windows of its own. */
export interface RequestCounter {
  /** Counts one request. A window begins with the first request after the last window. */
  count(key: string, windowSeconds: number): Promise<RequestCount>;
}
