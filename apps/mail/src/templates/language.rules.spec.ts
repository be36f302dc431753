import { describe, expect, it } from 'vitest';
import { canonicalLanguage, isSameLanguage, languagesToTry } from './language.rules.js';

describe('a language', () => {
  it.each([
    ['zh-cn', 'zh-CN'],
    ['ZH-HANT-tw', 'zh-Hant-TW'],
    ['En', 'en'],
    ['es-419', 'es-419'],
  ])('%s is written %s', (tag, canonical) => {
    expect(canonicalLanguage(tag)).toBe(canonical);
  });

  it.each([
    [['zh-CN'], ['zh-CN', 'zh', 'en']],
    [['en-GB'], ['en-GB', 'en']],
    [
      ['fr', 'zh-Hant-TW', 'en'],
      ['fr', 'zh-Hant-TW', 'zh-Hant', 'zh', 'en'],
    ],
    [
      ['EN', 'zh'],
      ['en', 'zh'],
    ],
    [[], ['en']],
  ])('wanted %j: tried %j', (wanted, tried) => {
    expect(languagesToTry(wanted)).toEqual(tried);
  });

  it.each([
    ['zh-CN', 'zh', true],
    ['zh', 'en', false],
    ['z', 'zh', false],
  ])('%s and %s: the same is %s', (one, other, isSame) => {
    expect(isSameLanguage(one, other)).toBe(isSame);
  });
});
