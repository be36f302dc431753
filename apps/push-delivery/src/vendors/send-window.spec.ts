import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SendWindow } from './send-window.js';

const LIMIT = 100;

/** A window for which `waiting` requests ask at once. */
async function windowWith(waiting: number) {
  const window = new SendWindow(LIMIT);
  let [entered, left] = [0, 0];
  for (let request = 0; request < waiting; request += 1) void window.enter(false).then(() => (entered += 1));
  await setImmediate();
  /** Each request takes the time, and makes room for the next. @returns the number that runs afterwards */
  const answer = async (...times: number[]) => {
    for (const tookMs of times) {
      window.grow(tookMs);
      window.leave();
      left += 1;
      await setImmediate();
    }
    return entered - left;
  };
  return { window, answer, running: () => entered - left };
}

const times = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

describe('a window of requests', () => {
  it('grows with quick answers, up to its limit', async () => {
    const { answer, running } = await windowWith(1_000);
    expect(running()).toBe(10);
    expect(await answer(...times(15, 50))).toBe(25);
    expect(await answer(...times(500, 50))).toBe(LIMIT);
  });

  it('does not grow where requests take much longer than the quickest', async () => {
    const far = await windowWith(1_000);
    expect(await far.answer(50, ...times(500, 90))).toBe(11);
    // A few milliseconds of a quick vendor are no sign of a crowd.
    const near = await windowWith(1_000);
    expect(await near.answer(1, ...times(20, 20))).toBe(31);
  });

  it('does not grow for requests that do not fill it', async () => {
    const { window, answer } = await windowWith(1);
    for (let answered = 0; answered < 50; answered += 1) {
      await answer(50);
      await window.enter(false);
    }
    let entered = 0;
    for (let request = 0; request < 50; request += 1) void window.enter(false).then(() => (entered += 1));
    await setImmediate();
    expect(entered).toBe(9);
  });

  it('measures anew after a rest: the vendor may be farther away', async () => {
    const { window, answer } = await windowWith(1_000);
    await answer(5);
    window.reset();
    expect(await answer(...times(100, 300))).toBeGreaterThan(50);
  });
});
