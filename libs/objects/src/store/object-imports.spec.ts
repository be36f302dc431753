import { setFlagsFromString } from 'node:v8';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ImportHeap } from './object-imports.js';

const SECOND_MS = 1_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('the heap grows less from the first batch of an import until 30 seconds after its last one', () => {
  const growth: string[] = [];
  const importHeap = new ImportHeap((flag) => {
    setFlagsFromString(flag);
    if (flag.includes('heap-growing')) growth.push(flag);
  });
  importHeap.touch();
  expect(growth).toEqual(['--heap-growing-percent=50']);
  for (let batch = 0; batch < 100; batch += 1) {
    vi.advanceTimersByTime(29 * SECOND_MS);
    importHeap.touch();
  }
  expect(growth).toEqual(['--heap-growing-percent=50']);
  vi.advanceTimersByTime(31 * SECOND_MS);
  expect(growth).toEqual(['--heap-growing-percent=50', '--heap-growing-percent=0']);
  importHeap.touch();
  expect(growth.at(-1)).toBe('--heap-growing-percent=50');
  vi.advanceTimersByTime(31 * SECOND_MS);
  expect(growth.at(-1)).toBe('--heap-growing-percent=0');
});
