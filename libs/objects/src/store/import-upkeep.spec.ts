import type * as V8 from 'node:v8';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { importHeap } from './import-upkeep.js';

const flags = vi.hoisted(() => [] as string[]);
vi.mock('node:v8', async (original) => {
  const v8 = await original<typeof V8>();
  return {
    ...v8,
    setFlagsFromString: (flag: string) => {
      flags.push(flag);
      v8.setFlagsFromString(flag);
    },
  };
});

const SECOND_MS = 1_000;
const growth = () => flags.filter((flag) => flag.includes('heap-growing'));

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('the heap grows less from the first batch of an import until 30 seconds after its last one', () => {
  importHeap.touch();
  expect(growth()).toEqual(['--heap-growing-percent=50']);
  for (let batch = 0; batch < 100; batch += 1) {
    vi.advanceTimersByTime(29 * SECOND_MS);
    importHeap.touch();
  }
  expect(growth()).toEqual(['--heap-growing-percent=50']);
  vi.advanceTimersByTime(31 * SECOND_MS);
  expect(growth()).toEqual(['--heap-growing-percent=50', '--heap-growing-percent=0']);
  importHeap.touch();
  expect(growth().at(-1)).toBe('--heap-growing-percent=50');
  vi.advanceTimersByTime(31 * SECOND_MS);
  expect(growth().at(-1)).toBe('--heap-growing-percent=0');
});
