import { describe, expect, it } from 'vitest';
import { isStorableJson, isStorableText } from './storable-text.js';

describe('isStorableText', () => {
  it.each([
    ['text', true],
    ['😀', true],
    ['a\0', false],
    ['\ud800', false],
    ['\udc00x', false],
  ])('says of %j: %s', (text, isStorable) => {
    expect(isStorableText(text)).toBe(isStorable);
  });
});

describe('isStorableJson', () => {
  it.each([
    [{ a: ['b', 1, null, true, { c: 'd' }] }, true],
    [{ a: ['b\0'] }, false],
    [[{ 'a\0': 1 }], false],
    ['\ud800', false],
  ])('says of %j: %s', (value, isStorable) => {
    expect(isStorableJson(value)).toBe(isStorable);
  });
});
