import { describe, expect, it, vi } from 'vitest';
// Loads its libraries before the first test, whose time is limited.
import './query-database.js';

const OFTEN = 20;

async function fresh() {
  vi.resetModules();
  return (await import('./query-database.js')).preparedStatementName;
}

describe('preparedStatementName', () => {
  it('names a text after repeated use, and always the same', async () => {
    const preparedStatementName = await fresh();
    const named = (text: string, times: number) => Array.from({ length: times }, () => preparedStatementName(text));
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
    const preparedStatementName = await fresh();
    const texts = Array.from({ length: 300 }, (_, index) => `text ${index}`);
    for (let time = 0; time < OFTEN; time += 1) for (const text of texts) preparedStatementName(text);
    const names = texts.map((text) => preparedStatementName(text));
    expect(new Set(names.filter((name) => name !== undefined)).size).toBe(200);
    expect([names[0], names[199], names[200]]).toEqual(['shape.0', 'shape.199', undefined]);
  });

  it('drops a text that other texts have displaced', async () => {
    const preparedStatementName = await fresh();
    for (let time = 0; time < OFTEN; time += 1) {
      expect(preparedStatementName('rare')).toBeUndefined();
      for (let other = 0; other < 1_000; other += 1) preparedStatementName(`${time}.${other}`);
    }
  });

  it('names no long text', async () => {
    const preparedStatementName = await fresh();
    const text = 'x'.repeat(5_000);
    for (let time = 0; time <= OFTEN; time += 1) expect(preparedStatementName(text)).toBeUndefined();
  });

  it('names indexed statements separately, also longer ones', async () => {
    const preparedStatementName = await fresh();
    const text = 'x'.repeat(5_000);
    const names = Array.from({ length: OFTEN }, () => preparedStatementName(text, true));
    expect(names.at(-1)).toBe('indexed.0');
    expect(preparedStatementName(text)).toBeUndefined();
  });
});
