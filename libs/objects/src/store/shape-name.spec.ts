import { describe, expect, it, vi } from 'vitest';

const OFTEN = 20;

async function fresh() {
  vi.resetModules();
  return (await import('./query-database.js')).shapeName;
}

describe('shapeName', () => {
  it('names a text after repeated use, and always the same', async () => {
    const shapeName = await fresh();
    const named = (text: string, times: number) => Array.from({ length: times }, () => shapeName(text));
    expect(named('a', OFTEN - 1)).toEqual(Array(OFTEN - 1).fill(undefined));
    expect(named('b', OFTEN - 1)).toEqual(Array(OFTEN - 1).fill(undefined));
    expect([...named('b', 2), ...named('a', 2), ...named('b', 1)]).toEqual([
      'shape.0',
      'shape.0',
      'shape.1',
      'shape.1',
      'shape.0',
    ]);
  });

  it('names 200 texts, and no more', async () => {
    const shapeName = await fresh();
    const texts = Array.from({ length: 300 }, (_, index) => `text ${index}`);
    for (let time = 0; time < OFTEN; time += 1) for (const text of texts) shapeName(text);
    const names = texts.map((text) => shapeName(text));
    expect(new Set(names.filter((name) => name !== undefined)).size).toBe(200);
    expect([names[0], names[199], names[200]]).toEqual(['shape.0', 'shape.199', undefined]);
  });

  it('forgets a text that other texts have displaced', async () => {
    const shapeName = await fresh();
    for (let time = 0; time < OFTEN; time += 1) {
      expect(shapeName('rare')).toBeUndefined();
      for (let other = 0; other < 1_000; other += 1) shapeName(`${time}.${other}`);
    }
  });

  it('names no long text', async () => {
    const shapeName = await fresh();
    const text = 'x'.repeat(5_000);
    for (let time = 0; time <= OFTEN; time += 1) expect(shapeName(text)).toBeUndefined();
  });

  it('names indexed statements separately, also longer ones', async () => {
    const shapeName = await fresh();
    const text = 'x'.repeat(5_000);
    const names = Array.from({ length: OFTEN }, () => shapeName(text, true));
    expect(names.at(-1)).toBe('indexed.0');
    expect(shapeName(text)).toBeUndefined();
  });
});
