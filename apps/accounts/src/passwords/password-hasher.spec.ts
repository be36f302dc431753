import { describe, expect, it, vi } from 'vitest';
import { Metrics } from '#observability';
import type { AccountsConfig } from '../accounts.config.js';
import { PasswordHasher } from './password-hasher.js';

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

  it('refuses a stored hash that it does not know', async () => {
    await expect(hasher().verify('secret', '$2b$10$something')).rejects.toThrow(/unknown scheme/);
  });

  it('refuses a job that has waited for three seconds, and runs the others', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const busy = hasher();
      const jobs = Array.from({ length: 4 }, () => busy.hash('secret'));
      const outcomes = Promise.allSettled(jobs);
      vi.advanceTimersByTime(3_000);
      const late = busy.hash('secret');
      expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
      await expect(jobs[3]).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 2 });
      expect(await late).toMatch(/^bcrypt-sha256:/);
    } finally {
      vi.useRealTimers();
    }
  });

  it('reports how many jobs wait', async () => {
    const metrics = new Metrics();
    const set = vi.spyOn(metrics.passwordQueue, 'set');
    const busy = new PasswordHasher(
      { passwordCost: 4, passwordQueueLimit: 1, passwordConcurrency: 1 } as AccountsConfig,
      metrics,
    );
    const jobs = Promise.allSettled(Array.from({ length: 2 }, () => busy.hash('secret')));
    expect(set).toHaveBeenLastCalledWith(1);
    await jobs;
    expect(set).toHaveBeenLastCalledWith(0);
  });

  it('fails the jobs in hand when the process shuts down', async () => {
    const closing = hasher(12);
    const job = closing.hash('secret');
    const outcome = expect(job).rejects.toThrow();
    await closing.onApplicationShutdown();
    await outcome;
  });
});
