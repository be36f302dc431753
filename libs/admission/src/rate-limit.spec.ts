import { describe, expect, it } from 'vitest';
import { parseRateLimit } from './request-counter.js';

describe('parseRateLimit', () => {
  it('reads a count and a window, or no limit', () => {
    expect(parseRateLimit('30/3600')).toEqual({ count: 30, windowSeconds: 3_600 });
    expect(parseRateLimit('off')).toBeUndefined();
  });
});
