import { beforeEach, describe, expect, it, vi } from 'vitest';
import { TtlCache } from './collections.js';

const LONG = 3_600_000;

describe('recent reads', () => {
  let reads: string[];
  let problem: Error | undefined;
  let recent: TtlCache<{ readonly value: string }>;

  beforeEach(() => {
    [reads, problem] = [[], undefined];
    recent = new TtlCache(async (key) => {
      reads.push(key);
      await Promise.resolve();
      if (problem !== undefined) throw problem;
      return { value: `${key} ${reads.length}` };
    });
  });

  it('share one read among concurrent callers', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => recent.get('a')));
    expect(new Set(answers.map(({ value }) => value))).toEqual(new Set(['a 1']));
    expect(await recent.get('a')).toEqual({ value: 'a 1' });
    expect(reads).toEqual(['a']);
  });

  it('are separate for each key', async () => {
    await recent.get('a');
    expect(await recent.get('__proto__')).toEqual({ value: '__proto__ 2' });
  });

  it('are read again after forget, also during a read', async () => {
    const first = recent.get('a');
    recent.forget('a');
    expect(await first).toEqual({ value: 'a 1' });
    expect(await recent.get('a')).toEqual({ value: 'a 2' });
  });

  describe('with an absent result', () => {
    const read = vi.fn((key: string) => Promise.resolve({ value: key }));
    const readsWith = (ttlMs: number, absentTtlMs: number) =>
      new TtlCache(read, { ttlMs, absent: { is: ({ value }) => value.startsWith('no'), ttlMs: absentTtlMs } });
    const timesRead = async (of: TtlCache<{ value: string }>, key: string) => {
      read.mockClear();
      await of.get(key);
      return read.mock.calls.length;
    };

    it('do not displace other entries, and are bounded in number', async () => {
      const both = readsWith(LONG, LONG);
      await both.get('there');
      for (let count = 0; count <= 10_000; count += 1) await both.get(`no ${count}`);
      expect(await timesRead(both, 'there')).toBe(0);
      expect(await timesRead(both, 'no 10000')).toBe(0);
      expect(await timesRead(both, 'no 0')).toBe(1);
      both.forget('no 10000');
      expect(await timesRead(both, 'no 10000')).toBe(1);
    });

    it('are all read again once they are cleared', async () => {
      const both = readsWith(LONG, LONG);
      for (const key of ['there', 'nothing']) await both.get(key);
      both.clear();
      for (const key of ['there', 'nothing']) expect(await timesRead(both, key)).toBe(1);
    });

    it('have their own time to live', async () => {
      const longer = readsWith(1, LONG);
      await longer.get('nothing');
      await expect.poll(() => timesRead(longer, 'there')).toBe(1);
      await expect.poll(() => timesRead(longer, 'there')).toBe(1);
      expect(await timesRead(longer, 'nothing')).toBe(0);
      const shorter = readsWith(LONG, 1);
      await shorter.get('nothing');
      await expect.poll(() => timesRead(shorter, 'nothing')).toBe(1);
    });
  });

  it('are not cached where the read fails', async () => {
    problem = new Error('away');
    await expect(recent.get('a')).rejects.toThrow('away');
    problem = undefined;
    expect(await recent.get('a')).toEqual({ value: 'a 2' });
  });
});
