import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SendWindow } from './send-window.js';

const LIMIT = 400;

afterEach(() => vi.restoreAllMocks());

/** A window for which `waiting` requests ask at once. */
async function windowWith(waiting: number) {
  const window = new SendWindow(LIMIT);
  let [entered, left] = [0, 0];
  for (let request = 0; request < waiting; request += 1) void window.enter(false).then(() => (entered += 1));
  await setImmediate();
  /** So many requests end, each making room for the next. @returns the number that runs afterwards */
  const answer = async (count: number) => {
    for (let answered = 0; answered < count; answered += 1) {
      window.grow();
      window.leave();
      left += 1;
      await setImmediate();
    }
    return entered - left;
  };
  return { window, answer, running: () => entered - left };
}

/** The event loop is busy for this share of the time. Each reading of the clock takes 10 ms. */
function loadOf(initial: number): (share: number) => void {
  let [utilization, clock] = [initial, 0];
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({ idle: 0, active: 0, utilization }));
  vi.spyOn(performance, 'now').mockImplementation(() => (clock += 10));
  return (share) => {
    utilization = share;
  };
}

describe('a window of requests', () => {
  it('grows with each success, up to its limit', async () => {
    loadOf(0.5);
    const { answer, running } = await windowWith(2_000);
    expect(running()).toBe(10);
    expect(await answer(15)).toBe(25);
    expect(await answer(1_000)).toBe(LIMIT);
  });

  it('does not grow for requests that do not fill it', async () => {
    loadOf(0.5);
    const { window, answer } = await windowWith(1);
    for (let answered = 0; answered < 50; answered += 1) {
      await answer(1);
      await window.enter(false);
    }
    let entered = 0;
    for (let request = 0; request < 50; request += 1) void window.enter(false).then(() => (entered += 1));
    await setImmediate();
    expect(entered).toBe(9);
  });

  it('grows to a hundred in a process without idle time, and shrinks a larger crowd to that', async () => {
    const setLoad = loadOf(1);
    const { answer } = await windowWith(10_000);
    expect(await answer(500)).toBe(100);
    setLoad(0.5);
    const crowd = await answer(1_000);
    expect(crowd).toBeGreaterThan(150);
    setLoad(1);
    expect(await answer(1_000)).toBe(100);
    setLoad(0.5);
    expect(await answer(3_000)).toBeGreaterThan(150);
  });

  it('halves after a refusal, and recovers', async () => {
    loadOf(0.5);
    const { window, answer } = await windowWith(10_000);
    await answer(1_000);
    window.shrink();
    expect(await answer(LIMIT)).toBeLessThan(LIMIT * 0.6);
    expect(await answer(5_000)).toBe(LIMIT);
  });
});
