import { describe, expect, it } from 'vitest';
import { pauseBefore } from './push-client.js';

const OPTIONS = { baseMs: 1_000, maxMs: 60_000 };

describe('the pause before the next attempt', () => {
  it.each([
    [0, 1_000],
    [1, 2_000],
    [5, 32_000],
    [6, 60_000],
    [5_000, 60_000],
  ])('after %i failures is at most %i ms, with jitter', (failures, mostMs) => {
    const setback = { failures, isRefused: false };
    expect(pauseBefore(setback, OPTIONS, 0)).toBe(0);
    expect(pauseBefore(setback, OPTIONS, 0.5)).toBe(mostMs / 2);
    expect(pauseBefore(setback, OPTIONS, 1)).toBe(mostMs);
  });

  it('is the one that the server requested', () => {
    expect(pauseBefore({ failures: 0, retryAfterMs: 7_000, isRefused: false }, OPTIONS, 0.9)).toBe(7_000);
  });

  it('is longer than the requested one after failed attempts', () => {
    expect(pauseBefore({ failures: 1, retryAfterMs: 7_000, isRefused: false }, OPTIONS, 0.5)).toBe(8_000);
  });

  it('is at most the longest timer, which would otherwise end at once', () => {
    const retryAfterMs = 30 * 24 * 60 * 60 * 1_000;
    expect(pauseBefore({ failures: 3, retryAfterMs, isRefused: false }, OPTIONS, 1)).toBe(2_147_483_647);
  });

  it('is long where the server rejects the device', () => {
    expect(pauseBefore({ failures: 1, isRefused: true }, OPTIONS, 0)).toBe(30_000);
    expect(pauseBefore({ failures: 1, isRefused: true }, OPTIONS, 1)).toBe(60_000);
  });
});
