import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linesIn } from './class-scan.js';

describe('the rows of a page', () => {
  it('are the texts of the rows, whatever they hold', () => {
    const row = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(fc.array(row), fc.constantFrom(undefined, 2), (rows, indent) => {
        const text = JSON.stringify({ results: rows, cursor: 'c' }, undefined, indent);
        const lines = linesIn(text, rows);
        expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(JSON.parse(JSON.stringify(rows)));
        expect(lines.join('')).not.toMatch(/[\r\n]/);
      }),
    );
  });

  it('are written anew where the text begins otherwise', () => {
    expect(linesIn('{"cursor":"c","results":[{"a": 1}]}', [{ a: 1 }])).toEqual(['{"a":1}']);
  });

  it('may be long', () => {
    const rows = [{ a: 'x"\\'.repeat(1_000_000) }];
    expect(linesIn(JSON.stringify({ results: rows }), rows)).toEqual([JSON.stringify(rows[0])]);
  });
});
