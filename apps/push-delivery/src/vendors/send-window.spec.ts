import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SendWindow } from './send-window.js';

const LIMIT = 400;
const QUICK = 0.05;
const SLOW = 0.1;
/** With each reading of the clock. */
const CLOCK_STEP_MS = 2;

let clock = 0;
beforeEach(() => {
  clock = 0;
  vi.stubGlobal('performance', { now: () => (clock += CLOCK_STEP_MS) });
});
afterEach(() => vi.unstubAllGlobals());

/** A window for which `waiting` requests ask at once, and another one for each that ends. */
async function windowWith(waiting: number) {
  const window = new SendWindow(LIMIT);
  let [entered, left] = [0, 0];
  const ask = () => void window.enter(false).then(() => (entered += 1));
  for (let request = 0; request < waiting; request += 1) ask();
  await setImmediate();
  /** So many requests end, each making room for the next. @returns the number that runs afterwards */
  const answer = async (count: number, seconds: number | undefined) => {
    for (let answered = 0; answered < count; answered += 1) {
      window.grow(seconds);
      window.leave();
      left += 1;
      ask();
    }
    await setImmediate();
    return entered - left;
  };
  return { window, answer, running: () => entered - left };
}

describe('a window of requests', () => {
  it('grows with each success, up to its limit', async () => {
    const { answer, running } = await windowWith(1_000);
    expect(running()).toBe(10);
    expect(await answer(15, QUICK)).toBe(25);
    expect(await answer(1_000, QUICK)).toBe(LIMIT);
  });

  it('does not grow for requests that do not fill it', async () => {
    const { window, answer } = await windowWith(1);
    for (let answered = 0; answered < 50; answered += 1) await answer(1, QUICK);
    let entered = 0;
    for (let request = 0; request < 50; request += 1) void window.enter(false).then(() => (entered += 1));
    await setImmediate();
    expect(entered).toBe(9);
  });

  it('grows to a hundred without the time of an answer', async () => {
    const { answer } = await windowWith(1_000);
    expect(await answer(1_000, undefined)).toBe(100);
  });

  it('grows by a half at most until the time of the answers is known', async () => {
    const { answer } = await windowWith(1_000);
    const sizes: number[] = [];
    for (let part = 0; part < 100; part += 1) sizes.push(await answer(10, QUICK));
    const growth = sizes.slice(1).map((size, index) => size / sizes[index]!);
    expect(Math.max(...growth.slice(sizes.findIndex((size) => size >= 100)))).toBeLessThanOrEqual(1.51);
    expect(sizes.at(-1)).toBeGreaterThan(300);
  });

  it('stays at the number of requests that the vendor answers as quickly as a hundred', async () => {
    const { answer, running } = await windowWith(1_000);
    const sizes: number[] = [];
    for (let part = 0; part < 500; part += 1) sizes.push(await answer(10, running() <= 200 ? QUICK : SLOW));
    expect(Math.min(...sizes.slice(100))).toBeGreaterThan(150);
    expect(Math.max(...sizes.slice(100))).toBeLessThan(250);
  });

  it('shrinks where the vendor becomes slower, and grows again where a hundred requests take as long', async () => {
    const { answer } = await windowWith(1_000);
    await answer(1_000, QUICK);
    const sizes: number[] = [];
    for (let part = 0; part < 1_200; part += 1) sizes.push(await answer(10, SLOW));
    expect(Math.min(...sizes)).toBeLessThan(110);
    expect(sizes.at(-1)).toBe(LIMIT);
  });

  it('measures anew after two minutes', async () => {
    const { answer } = await windowWith(1_000);
    expect(await answer(1_000, QUICK)).toBe(LIMIT);
    clock += 120_000;
    const sizes: number[] = [];
    for (let part = 0; part < 200; part += 1) sizes.push(await answer(10, QUICK));
    expect(Math.min(...sizes)).toBeLessThan(160);
    expect(sizes.at(-1)).toBe(LIMIT);
  });

  it('halves after a refusal, and recovers', async () => {
    const { window, answer } = await windowWith(1_000);
    await answer(1_000, QUICK);
    window.shrink();
    expect(await answer(LIMIT, QUICK)).toBeLessThan(LIMIT * 0.6);
    expect(await answer(9_000, QUICK)).toBe(LIMIT);
  });
});
