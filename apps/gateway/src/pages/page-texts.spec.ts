import { describe, expect, it } from 'vitest';
import { textsIn } from './page-request.js';
import { ENGLISH } from './page-texts.en.js';
import { CHINESE } from './page-texts.zh.js';

/** Every text in a stable order. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Object.values(value as object).flatMap(textsOf);
}

describe('the texts of pages', () => {
  it.each([
    [['zh-CN', 'en'], CHINESE],
    [['ZH-Hant-TW'], CHINESE],
    [['fr', 'zh', 'en'], CHINESE],
    [['en-GB', 'zh'], ENGLISH],
    [['fr', 'de'], ENGLISH],
    [['zha'], ENGLISH],
    [['constructor', '__proto__'], ENGLISH],
    [[], ENGLISH],
  ])('for readers of %j', (languages, texts) => {
    expect(textsIn(languages)).toBe(texts);
  });

  it('say everything in both languages, each in its own writing', () => {
    const [english, { language, ...chinese }] = [textsOf(ENGLISH), CHINESE];
    expect([language, textsOf(chinese).length]).toEqual(['zh-CN', english.length - 1]);
    for (const text of english) expect(text).toMatch(/^[\x20-\x7e]+$/);
    for (const text of textsOf(chinese)) {
      expect(text).toMatch(/[\u4e00-\u9fff]/);
      // Chinese has marks of its own.
      expect(text).not.toMatch(/[,;:?!]/);
    }
  });

  it('have the place of a name in the same texts', () => {
    const withName = (texts: object) =>
      textsOf(texts).flatMap((text, index) => (text.includes('{name}') ? [index] : []));
    expect(withName(ENGLISH)).toHaveLength(3);
    expect(withName(CHINESE)).toEqual(withName(ENGLISH));
  });
});
