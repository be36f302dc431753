import { describe, expect, it } from 'vitest';
import { AttemptLines, type LineLimits } from './attempt-lines.js';

const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE' };
const LIMITS: LineLimits = { places: 2, maxWaiting: 3, maxWaitMs: 1_500 };
const IMPATIENT = { maxWaitMs: 50 };
const enterAtOnce = () => Promise.resolve(true);

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

describe('attempts in line', () => {
  const lines = (changes: Partial<LineLimits> = {}) => new AttemptLines({ ...LIMITS, ...changes }, () => 0);

  it('begin in the order they came, as places get free', async () => {
    const queue = lines();
    const attempts = Array.from({ length: 4 }, held);
    const results = attempts.map(({ work }) => queue.inTurn('a', enterAtOnce, work));
    const begun = () => attempts.map(({ isBegun }) => isBegun());
    await settled();
    expect(begun()).toEqual([true, true, false, false]);
    attempts[1]!.end();
    await settled();
    expect(begun()).toEqual([true, true, true, false]);
    for (const { end } of attempts) end();
    expect(await Promise.all(results)).toEqual(Array(4).fill('done'));
  });

  it('of one user do not wait for those of another', async () => {
    const queue = lines({ places: 1 });
    const [first, second] = [held(), held()];
    const results = [queue.inTurn('a', enterAtOnce, first.work), queue.inTurn('b', enterAtOnce, second.work)];
    await settled();
    expect(second.isBegun()).toBe(true);
    first.end();
    second.end();
    await Promise.all(results);
  });

  it('pass their places on, whatever becomes of them', async () => {
    const queue = lines({ places: 1 });
    const failing = queue.inTurn('a', enterAtOnce, () => Promise.reject(new Error('failed')));
    const refused = queue.inTurn('a', () => Promise.reject(new Error('refused')), held().work);
    await expect(failing).rejects.toThrow('failed');
    await expect(refused).rejects.toThrow('refused');
    expect(await queue.inTurn('a', enterAtOnce, () => Promise.resolve('done'))).toBe('done');
  });

  it('ask again until they may enter', async () => {
    let asked = 0;
    const enter = () => Promise.resolve((asked += 1) === 3);
    expect(await lines().inTurn('a', enter, () => Promise.resolve('done'))).toBe('done');
    expect(asked).toBe(3);
  });

  it('are refused where they may not enter in time', async () => {
    const startedAt = performance.now();
    const never = lines(IMPATIENT).inTurn('a', () => Promise.resolve(false), held().work);
    await expect(never).rejects.toMatchObject(UNAVAILABLE);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(IMPATIENT.maxWaitMs - 1);
  });

  it('are refused where those before them take too long, and leave no trace in the line', async () => {
    const queue = lines({ ...IMPATIENT, places: 1 });
    const [first, next] = [held(), held()];
    const result = queue.inTurn('a', enterAtOnce, first.work);
    await expect(queue.inTurn('a', enterAtOnce, held().work)).rejects.toMatchObject(UNAVAILABLE);
    const following = queue.inTurn('a', enterAtOnce, next.work);
    first.end();
    next.end();
    expect(await Promise.all([result, following])).toEqual(['done', 'done']);
  });

  it('are refused at once where too many wait, in whatever line', async () => {
    const queue = lines({ places: 1 });
    const [a, b] = [held(), held()];
    const inHand = [queue.inTurn('a', enterAtOnce, a.work), queue.inTurn('b', enterAtOnce, b.work)];
    const waiting = ['a', 'a', 'b'].map((key) => queue.inTurn(key, enterAtOnce, () => Promise.resolve('done')));
    await expect(queue.inTurn('b', enterAtOnce, held().work)).rejects.toMatchObject(UNAVAILABLE);
    await expect(queue.inTurn('c', () => Promise.resolve(false), held().work)).rejects.toMatchObject(UNAVAILABLE);
    a.end();
    b.end();
    expect(await Promise.all([...inHand, ...waiting])).toEqual(Array(5).fill('done'));
  });
});
