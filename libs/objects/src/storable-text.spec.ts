import { describe, expect, it } from 'vitest';
import { isStorableText } from './values.js';

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
