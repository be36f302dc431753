import { describe, expect, it } from 'vitest';
import { markup } from '../html/markup.js';
import { textsIn } from './page-language.js';
import { ENGLISH } from './page-texts.en.js';
import { CHINESE } from './page-texts.zh.js';

/** Every text, with a name put where one is asked for. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'function') return [(value as (name: unknown) => { text: string })(markup`NAME`).text];
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
});
