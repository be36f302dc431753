import { beforeEach, describe, expect, it } from 'vitest';
import { RecentReads } from './recent-reads.js';

describe('recent reads', () => {
  let reads: string[];
  let problem: Error | undefined;
  let recent: RecentReads<{ readonly value: string }>;

  beforeEach(() => {
    [reads, problem] = [[], undefined];
    recent = new RecentReads(async (key) => {
      reads.push(key);
      await Promise.resolve();
      if (problem !== undefined) throw problem;
      return { value: `${key} ${reads.length}` };
    });
  });

  it('are read once where many ask', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => recent.get('a')));
    expect(new Set(answers.map(({ value }) => value))).toEqual(new Set(['a 1']));
    expect(await recent.get('a')).toEqual({ value: 'a 1' });
    expect(reads).toEqual(['a']);
  });

  it('are kept apart by key', async () => {
    await recent.get('a');
    expect(await recent.get('__proto__')).toEqual({ value: '__proto__ 2' });
  });

  it('are read anew once they are forgotten, also in the middle of a read', async () => {
    const first = recent.get('a');
    recent.forget('a');
    expect(await first).toEqual({ value: 'a 1' });
    expect(await recent.get('a')).toEqual({ value: 'a 2' });
  });

  it('are not kept where they fail', async () => {
    problem = new Error('away');
    await expect(recent.get('a')).rejects.toThrow('away');
    problem = undefined;
    expect(await recent.get('a')).toEqual({ value: 'a 2' });
  });
});
