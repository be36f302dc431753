import { createHash } from 'node:crypto';
import bcrypt from 'bcrypt';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ImportedPassword } from '#contracts';
import { Metrics } from '#observability';
import { leancloudHash } from '../imported-password.mjs';
import rehash from './hashing.worker.mjs';
import { PasswordHasher } from './password-hasher.js';

/** Each hasher starts threads of its own, which takes seconds on a busy machine. */
const THREADS_START_MS = 20_000;

const hasher = (passwordCost = 4, passwordQueueLimit = 100) =>
  new PasswordHasher({ passwordCost, passwordQueueLimit, passwordConcurrency: 2 }, new Metrics());

describe('a PasswordHasher', { timeout: THREADS_START_MS }, () => {
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

  it('recognizes a hash of another cost', async () => {
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
    const busy = new PasswordHasher({ passwordCost: 4, passwordQueueLimit: 1, passwordConcurrency: 1 }, metrics);
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

describe('the password of another server', { timeout: THREADS_START_MS }, () => {
  const leancloud: ImportedPassword = {
    scheme: 'leancloud',
    salt: 'z9y8x7w6v5u4t3s2r1q0p9o8n7m6l5k4j3i2h1g0f9e8d7c6',
    hash: 'P4PvBg5kdsvpIK40uAJF5tAVH6BmAZ+gUCBEw2Iw06kHr10xmhLO0daQNhcKDH3P8+PnW97jaxPowjaVq9/Ocw==',
  };
  const php = (hash: string) => hash.replace('$2b$', '$2y$');
  const bcryptOf = (password: string, cost: number): ImportedPassword => ({
    scheme: 'bcrypt',
    hash: bcrypt.hashSync(password, cost),
  });

  it.each([
    ['leancloud', leancloud, '密码测试🔑'],
    ['bcrypt', bcryptOf('密码测试🔑', 4), '密码测试🔑'],
    ['bcrypt of a higher cost', bcryptOf('p', 6), 'p'],
    ["PHP's bcrypt", { scheme: 'bcrypt', hash: php(bcrypt.hashSync('p', 4)) } satisfies ImportedPassword, 'p'],
  ])('of scheme %s is replaced by our own hash where it is right', async (_, imported, password) => {
    const hash = await hasher().verifyImported(password, imported);
    expect(hash).toMatch(/^bcrypt-sha256:\$2b\$04\$/);
    expect(await hasher().verify(password, hash ?? '')).toBe(true);
    expect(hasher().isOutdated(hash ?? '')).toBe(false);
    for (const wrong of ['', 'q', `${password} `])
      expect(await hasher().verifyImported(wrong, imported)).toBeUndefined();
  });

  it('can be wrapped: our hash of the old hash, with the salt beside it', async () => {
    for (const [salt, password] of [
      [leancloud.salt, '密码测试🔑'],
      ['', 'password'],
      ['盐:$:', 'p'],
    ] as const) {
      const wrapped = await hasher().wrap({ salt, hash: leancloudHash(salt, password) });
      expect(wrapped).not.toContain(leancloudHash(salt, password));
      expect([await hasher().verify(password, wrapped), await hasher().verify(`${password} `, wrapped)]).toEqual([
        true,
        false,
      ]);
      expect(hasher().isOutdated(wrapped)).toBe(true);
    }
  });
});

/** No test measures time: the time of an answer is that of its bcrypt work, which doubles with each step of the cost. */
describe('the bcrypt work of a hashing job', { timeout: THREADS_START_MS }, () => {
  const COST = 7;
  const WORK = 2 ** COST;
  const digest = (password: string) => createHash('sha256').update(password, 'utf8').digest('base64');
  const workOf = (imported: ImportedPassword, password: string): number => {
    const hash = vi.spyOn(bcrypt, 'hashSync');
    const compare = vi.spyOn(bcrypt, 'compareSync');
    rehash({ text: digest(password), imported, password, cost: COST });
    const hashed = hash.mock.calls.map(([, cost]) => 2 ** Number(cost));
    const compared = compare.mock.calls.map(([, stored]) => 2 ** bcrypt.getRounds(stored));
    vi.restoreAllMocks();
    return [...hashed, ...compared].reduce((sum, work) => sum + work, 0);
  };
  afterEach(() => vi.restoreAllMocks());

  it.each(['right', 'wrong'])("with LeanCloud's hash and a %s password is that of our own", (password) => {
    const imported: ImportedPassword = { scheme: 'leancloud', salt: 's', hash: leancloudHash('s', 'right') };
    expect(workOf(imported, password)).toBe(WORK);
  });

  it.each([4, 5, 6, 7])('with a bcrypt hash of cost %i and a wrong password is that of our own', (cost) => {
    const imported: ImportedPassword = { scheme: 'bcrypt', hash: bcrypt.hashSync('right', cost) };
    expect(workOf(imported, 'wrong')).toBe(WORK);
  });

  it('with a bcrypt hash of a higher cost and a wrong password is that of the hash', () => {
    expect(workOf({ scheme: 'bcrypt', hash: bcrypt.hashSync('right', 8) }, 'wrong')).toBe(2 ** 8);
  });
});
