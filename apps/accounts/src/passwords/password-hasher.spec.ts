import { describe, expect, it, vi } from 'vitest';
import { Metrics } from '#observability';
import type { AccountsConfig } from '../accounts.config.js';
import { BoundedQueue, PasswordHasher } from './password-hasher.js';

const hasher = (passwordCost = 4, passwordQueueLimit = 100) =>
  new PasswordHasher({ passwordCost, passwordQueueLimit, passwordConcurrency: 2 } as AccountsConfig, new Metrics());

describe('a PasswordHasher', () => {
  it('recognises a password by its hash, and never hashes alike', async () => {
    const [one, two] = [await hasher().hash('secret'), await hasher().hash('secret')];
    expect(one).toMatch(/^bcrypt-sha256:\$2b\$04\$/);
    expect(one).not.toBe(two);
    expect(await hasher().verify('secret', one)).toBe(true);
    expect(await hasher().verify('Secret', one)).toBe(false);
  });

  it.each([
    ['bytes beyond the 72nd', `${'x'.repeat(72)}a`, `${'x'.repeat(72)}b`],
    ['bytes behind a NUL byte', 'a\0b', 'a\0c'],
    ['a NUL byte at the end', 'a', 'a\0'],
    ['the form of letters', 'ä', 'a\u0308'],
  ])('distinguishes %s', async (_, password, other) => {
    const hash = await hasher().hash(password);
    expect([await hasher().verify(password, hash), await hasher().verify(other, hash)]).toEqual([true, false]);
  });

  it('knows when a hash was made at another cost', async () => {
    const hash = await hasher(4).hash('secret');
    expect([hasher(4).isOutdated(hash), hasher(5).isOutdated(hash)]).toEqual([false, true]);
  });

  it('verifies against nothing: never right', async () => {
    expect(await hasher().verifyNothing('the password of no user')).toBe(false);
  });

  it('says SERVICE_UNAVAILABLE with a retry time where too many wait', async () => {
    const busy = hasher(4, 1);
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => busy.hash('secret')));
    const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.reason).toMatchObject({ errorName: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 2 });
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
  });

  it('refuses a job that has waited for more than three seconds, and runs the others', async () => {
    const busy = hasher();
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    const early = Array.from({ length: 4 }, () => busy.hash('secret'));
    now.mockReturnValue(3_001);
    const late = busy.hash('secret');
    const outcomes = await Promise.allSettled(early);
    expect(outcomes.at(-1)).toMatchObject({ reason: { errorName: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 2 } });
    expect(await late).toMatch(/^bcrypt-sha256:/);
    now.mockRestore();
  });

  it('refuses a stored hash that it does not know', async () => {
    await expect(hasher().verify('secret', '$2b$10$something')).rejects.toThrow(/unknown scheme/);
  });
});

/** Runs the work. @returns undefined where the queue refuses it */
const run = async (queue: BoundedQueue, work: () => Promise<string>): Promise<string | undefined> => queue.run(work);

describe('a BoundedQueue', () => {
  it('runs a limited number at once, the others in order', async () => {
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

  it('continues after work that failed', async () => {
    const queue = new BoundedQueue(1, 5, () => undefined);
    const failed = queue.run(() => Promise.reject(new Error('no')));
    const next = queue.run(() => Promise.resolve('yes'));
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });

  it('reports how many wait', async () => {
    const report = vi.fn();
    const queue = new BoundedQueue(1, 5, report);
    const first = deferred();
    const results = [
      run(queue, () => first.promise),
      run(queue, () => Promise.resolve('')),
      run(queue, () => Promise.resolve('')),
    ];
    expect(report.mock.calls).toEqual([[1], [2]]);
    first.resolve('');
    await Promise.all(results);
    expect(report).toHaveBeenLastCalledWith(0);
  });
});

/** Work that the test ends. */
function deferred(): { promise: Promise<string>; resolve: (value: string) => void } {
  let resolve: (value: string) => void = () => undefined;
  const promise = new Promise<string>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
