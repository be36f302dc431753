import { describe, expect, it } from 'vitest';
import { SendWindow } from './send-window.js';

const MOST = 200;

/**
 * Sends requests, all that have a place at once, until all are answered.
 * @param msOf the time of each of a number of requests at once @returns these numbers
 */
async function numbersAtOnce(window: SendWindow, requests: number, msOf: (atOnce: number) => number) {
  let entered = 0;
  const numbers: number[] = [];
  for (let request = 0; request < requests; request += 1) void window.enter().then(() => (entered += 1));
  for (let left = requests; left > 0; left -= numbers.at(-1) ?? 0) {
    await new Promise((resolve) => setImmediate(resolve));
    numbers.push(entered);
    entered = 0;
    for (let answers = numbers.at(-1) ?? 0; answers > 0; answers -= 1) {
      window.measure(msOf(numbers.at(-1) ?? 0));
      window.grow();
      window.leave();
    }
  }
  return numbers;
}

describe('the window of a lane', () => {
  it('grows with each success up to its limit', async () => {
    const numbers = await numbersAtOnce(new SendWindow(MOST), 2_000, () => 100);
    expect(numbers.slice(0, 4)).toEqual([10, 20, 40, 80]);
    expect(Math.max(...numbers)).toBe(MOST);
  });

  it('shrinks while requests wait for each other, to what the process can do meanwhile', async () => {
    // The process does one request in a millisecond, and the vendor answers after 50: of more than 50 at once, some wait.
    const numbers = await numbersAtOnce(new SendWindow(MOST), 4_000, (atOnce) => Math.max(50, atOnce));
    const steady = numbers.slice(numbers.length / 2, -1);
    expect(Math.min(...steady)).toBeGreaterThan(50);
    expect(Math.max(...steady)).toBeLessThan(120);
  });

  it('takes no notice of short times', async () => {
    const numbers = await numbersAtOnce(new SendWindow(MOST), 2_000, (atOnce) => (atOnce < 50 ? 1 : 49));
    expect(Math.max(...numbers)).toBe(MOST);
  });

  it('measures anew after it was idle', async () => {
    const window = new SendWindow(MOST);
    await numbersAtOnce(window, 10, () => 10);
    expect(Math.max(...(await numbersAtOnce(window, 2_000, () => 100)))).toBe(MOST);
  });

  it('halves after a refusal, once within a second', async () => {
    const window = new SendWindow(MOST);
    await numbersAtOnce(window, 2_000, () => 100);
    window.shrink();
    window.shrink();
    const [number] = await numbersAtOnce(window, 200, () => 100);
    expect(number).toBe(MOST / 2);
  });
});
