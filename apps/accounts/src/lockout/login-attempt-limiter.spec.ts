import { describe, expect, it } from 'vitest';
import { LoginAttemptLimiter, type LoginAttemptLimits } from './lockout.service.js';

const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE' };
const LIMITS: LoginAttemptLimits = { concurrency: 2, maxWaiting: 3, maxWaitMs: 1_500 };
const IMPATIENT = { maxWaitMs: 50 };
const reserveAtOnce = () => Promise.resolve(true);

/** Work that ends when the test says so. */
function held(): { work: () => Promise<string>; end: () => void; isBegun: () => boolean } {
  let isBegun = false;
  let resolve: ((result: string) => void) | undefined;
  const result = new Promise<string>((resolveIt) => (resolve = resolveIt));
  const work = () => {
    isBegun = true;
    return result;
  };
  return { work, end: () => resolve?.('done'), isBegun: () => isBegun };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('a LoginAttemptLimiter', () => {
  const limiterWith = (changes: Partial<LoginAttemptLimits> = {}) =>
    new LoginAttemptLimiter({ ...LIMITS, ...changes }, () => 0);

  it('starts attempts of a user in order, as earlier ones end', async () => {
    const limiter = limiterWith();
    const attempts = Array.from({ length: 4 }, held);
    const results = attempts.map(({ work }) => limiter.run('a', reserveAtOnce, work));
    const begun = () => attempts.map(({ isBegun }) => isBegun());
    await settled();
    expect(begun()).toEqual([true, true, false, false]);
    attempts[1]!.end();
    await settled();
    expect(begun()).toEqual([true, true, true, false]);
    for (const { end } of attempts) end();
    expect(await Promise.all(results)).toEqual(Array(4).fill('done'));
  });

  it('does not delay attempts of one user behind those of another', async () => {
    const limiter = limiterWith({ concurrency: 1 });
    const [first, second] = [held(), held()];
    const results = [limiter.run('a', reserveAtOnce, first.work), limiter.run('b', reserveAtOnce, second.work)];
    await settled();
    expect(second.isBegun()).toBe(true);
    first.end();
    second.end();
    await Promise.all(results);
  });

  it('starts the next attempt after one that failed', async () => {
    const limiter = limiterWith({ concurrency: 1 });
    const failing = limiter.run('a', reserveAtOnce, () => Promise.reject(new Error('failed')));
    const refused = limiter.run('a', () => Promise.reject(new Error('refused')), held().work);
    await expect(failing).rejects.toThrow('failed');
    await expect(refused).rejects.toThrow('refused');
    expect(await limiter.run('a', reserveAtOnce, () => Promise.resolve('done'))).toBe('done');
  });

  it('retries the reservation until it succeeds', async () => {
    let asked = 0;
    const reserve = () => Promise.resolve((asked += 1) === 3);
    expect(await limiterWith().run('a', reserve, () => Promise.resolve('done'))).toBe('done');
    expect(asked).toBe(3);
  });

  it('refuses an attempt that cannot be reserved in time', async () => {
    const startedAt = performance.now();
    const never = limiterWith(IMPATIENT).run('a', () => Promise.resolve(false), held().work);
    await expect(never).rejects.toMatchObject(UNAVAILABLE);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(IMPATIENT.maxWaitMs - 1);
  });

  it('refuses an attempt that waits too long, and removes it from the queue', async () => {
    const limiter = limiterWith({ ...IMPATIENT, concurrency: 1 });
    const [first, next] = [held(), held()];
    const result = limiter.run('a', reserveAtOnce, first.work);
    await expect(limiter.run('a', reserveAtOnce, held().work)).rejects.toMatchObject(UNAVAILABLE);
    const following = limiter.run('a', reserveAtOnce, next.work);
    first.end();
    next.end();
    expect(await Promise.all([result, following])).toEqual(['done', 'done']);
  });

  it('refuses attempts at once where too many of all users wait', async () => {
    const limiter = limiterWith({ concurrency: 1 });
    const [a, b] = [held(), held()];
    const inHand = [limiter.run('a', reserveAtOnce, a.work), limiter.run('b', reserveAtOnce, b.work)];
    const waiting = ['a', 'a', 'b'].map((key) => limiter.run(key, reserveAtOnce, () => Promise.resolve('done')));
    await expect(limiter.run('b', reserveAtOnce, held().work)).rejects.toMatchObject(UNAVAILABLE);
    await expect(limiter.run('c', () => Promise.resolve(false), held().work)).rejects.toMatchObject(UNAVAILABLE);
    a.end();
    b.end();
    expect(await Promise.all([...inHand, ...waiting])).toEqual(Array(5).fill('done'));
  });
});
