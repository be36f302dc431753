import { describe, expect, it, vi } from 'vitest';
import { appError, ServerAway } from '#errors';
import { ProcessInfo, Readiness, UnfitError } from './health.js';

describe('Readiness', () => {
  it('is ready where every part is ready', async () => {
    const readiness = new Readiness();
    readiness.register('one', () => undefined);
    readiness.register('two', () => Promise.resolve());
    expect(await readiness.problems()).toEqual([]);
  });

  it('names each part that cannot serve, with its reason', async () => {
    const readiness = new Readiness();
    readiness.register('good', () => undefined);
    readiness.register('broken', () => {
      throw new Error('on fire');
    });
    readiness.register('away', () => Promise.reject(new Error('not connected')));
    expect(await readiness.problems()).toEqual(['broken: on fire', 'away: not connected']);
  });

  it('gives the reason of a server that is away, not the text for clients', async () => {
    const away = () =>
      Promise.reject(appError('SERVICE_UNAVAILABLE', { cause: new ServerAway('PostgreSQL: ENOTFOUND') }));
    const readiness = new Readiness();
    readiness.register('postgresql', away);
    expect(await readiness.problems()).toEqual(['postgresql: PostgreSQL: ENOTFOUND']);
    const info = new ProcessInfo();
    info.server('postgresql', away);
    expect(await info.servers()).toEqual([{ name: 'postgresql', problem: 'PostgreSQL: ENOTFOUND', facts: null }]);
  });

  it('is unfit where a part says so, and not where a server is away', async () => {
    const readiness = new Readiness();
    readiness.register('away', () => Promise.reject(new Error('not connected')));
    expect(await readiness.fitness()).toBe('fit');
    readiness.registerFitness('schema', () => Promise.reject(new UnfitError('not migrated')));
    expect(await readiness.fitness()).toBe('unfit');
    expect(await readiness.problems()).toEqual(['away: not connected', 'schema: not migrated']);
  });

  it('has an unknown fitness while a check that decides it fails for another reason, or does not reply', async () => {
    vi.useFakeTimers();
    const readiness = new Readiness();
    readiness.registerFitness('schema', () => Promise.reject(new Error('not connected')));
    expect(await readiness.fitness()).toBe('unknown');
    readiness.registerFitness('schema', () => new Promise(() => undefined));
    const fitness = readiness.fitness();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await fitness).toBe('unknown');
    readiness.registerFitness('schema', () => undefined);
    expect(await readiness.fitness()).toBe('fit');
    vi.useRealTimers();
  });

  it('does not wait for a part that does not reply', async () => {
    vi.useFakeTimers();
    const readiness = new Readiness();
    readiness.register('silent', () => new Promise(() => undefined));
    const problems = readiness.problems();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await problems).toEqual(['silent: no answer']);
    vi.useRealTimers();
  });

  it('waits for an answer as long as the caller says', async () => {
    vi.useFakeTimers();
    const readiness = new Readiness();
    readiness.register('late', () => new Promise((resolve) => setTimeout(resolve, 5_000)));
    const outcomes = Promise.all([readiness.problems(), readiness.problems(30_000)]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await outcomes).toEqual([['late: no answer'], []]);
    vi.useRealTimers();
  });

  it('is "draining" from then on, whatever the checks return', async () => {
    const readiness = new Readiness();
    readiness.register('good', () => undefined);
    readiness.startDraining();
    expect(await readiness.problems()).toEqual(['draining']);
    expect(await readiness.fitness()).toBe('unfit');
  });
});
