import { describe, expect, it, vi } from 'vitest';
import { BoundedQueue } from './bounded-queue.js';

/** Runs the work; undefined where the queue refuses it. */
const run = async (queue: BoundedQueue, work: () => Promise<string>): Promise<string | undefined> => queue.run(work);

describe('a BoundedQueue', () => {
  it('runs so many at once, the others in the order they came', async () => {
    const queue = new BoundedQueue(2, 10, () => undefined);
    const jobs = [deferred(), deferred(), deferred(), deferred()];
    const started: number[] = [];
    const results = jobs.map((each, index) =>
      run(queue, () => {
        started.push(index);
        return each.promise;
      }),
    );
    expect(started).toEqual([0, 1]);
    jobs[1]!.resolve('b');
    await results[1];
    expect(started).toEqual([0, 1, 2]);
    for (const each of jobs) each.resolve('x');
    await Promise.all(results);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('refuses what is over its bound, and takes again when there is room', async () => {
    const queue = new BoundedQueue(1, 1, () => undefined);
    const first = deferred();
    const results = [run(queue, () => first.promise), run(queue, () => Promise.resolve('second'))];
    expect(queue.run(() => Promise.resolve('third'))).toBeUndefined();
    first.resolve('first');
    expect(await Promise.all(results)).toEqual(['first', 'second']);
    expect(await queue.run(() => Promise.resolve('fourth'))).toBe('fourth');
  });

  it('goes on after work that failed', async () => {
    const queue = new BoundedQueue(1, 5, () => undefined);
    const failed = queue.run(() => Promise.reject(new Error('no')));
    const next = queue.run(() => Promise.resolve('yes'));
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });

  it('tells how many wait', async () => {
    const tell = vi.fn();
    const queue = new BoundedQueue(1, 5, tell);
    const first = deferred();
    const results = [
      run(queue, () => first.promise),
      run(queue, () => Promise.resolve('')),
      run(queue, () => Promise.resolve('')),
    ];
    expect(tell.mock.calls).toEqual([[1], [2]]);
    first.resolve('');
    await Promise.all(results);
    expect(tell).toHaveBeenLastCalledWith(0);
  });
});

/** A piece of work that ends when the test says so. */
function deferred(): { promise: Promise<string>; resolve: (value: string) => void } {
  let resolve: (value: string) => void = () => undefined;
  const promise = new Promise<string>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
