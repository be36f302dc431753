import { describe, expect, it, vi } from 'vitest';

async function fresh() {
  vi.resetModules();
  return (await import('./shape-name.js')).shapeName;
}

describe('shapeName', () => {
  it('names a text when it comes again, and always alike', async () => {
    const shapeName = await fresh();
    expect(['a', 'b', 'a', 'a', 'b', 'a'].map(shapeName)).toEqual([
      undefined,
      undefined,
      'shape.0',
      'shape.0',
      'shape.1',
      'shape.0',
    ]);
  });

  it('names 200 texts, and keeps to them', async () => {
    const shapeName = await fresh();
    const texts = Array.from({ length: 300 }, (_, index) => `text ${index}`);
    texts.forEach(shapeName);
    expect(new Set(texts.map(shapeName).filter((name) => name !== undefined)).size).toBe(200);
    expect(shapeName('text 0')).toBe('shape.0');
    expect([shapeName('another'), shapeName('another')]).toEqual([undefined, undefined]);
  });

  it('names no long text', async () => {
    const shapeName = await fresh();
    const text = 'x'.repeat(10_000);
    expect([shapeName(text), shapeName(text)]).toEqual([undefined, undefined]);
  });
});
