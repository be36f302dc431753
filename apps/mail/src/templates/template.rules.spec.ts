import { describe, expect, it } from 'vitest';
import { canonicalLanguage, inSubject, isSameLanguage, languagesToTry, safeVariables } from './template.rules.js';

const VARIABLES = { appname: 'Shop', email: 'ada@example.com', username: 'ada', link: 'https://shop.example/?token=x' };

describe('a subject', () => {
  it.each([
    ['Shop\r\nBcc: everyone@example.com', 'Shop Bcc: everyone@example.com'],
    ['a\u0000b\u001bc\u007fd\u0085e', 'a b c d e'],
    ['a\u2028b\u2029c', 'a b c'],
    ['\u202egpj.ada\u2066x', 'gpj.ada x'],
    ['\n Shop \t', 'Shop'],
    ['half \ud83d', 'half \ufffd'],
    ['店 😀', '店 😀'],
  ])('%j becomes %j', (text, subject) => {
    expect(inSubject(text)).toBe(subject);
  });

  it('is cut to its maximum length, never inside a character', () => {
    expect(inSubject('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`);
    const cut = inSubject(`${'x'.repeat(498)}😀😀`);
    expect(cut).toBe(`${'x'.repeat(498)}…`);
    expect(cut.isWellFormed()).toBe(true);
  });
});

describe('the variables', () => {
  it('are one line each, and names are short', () => {
    const username = `ada\r\n\r\nYou have won! ${'x'.repeat(200)}`;
    const safe = safeVariables({ ...VARIABLES, appname: 'Shop\u2028', username });
    expect(safe.appname).toBe('Shop');
    expect(safe.username).toMatch(/^ada You have won! x+…$/);
    expect(safe.username).toHaveLength(100);
  });

  it.each([
    ['https://evil.example/x', 'https:\u200b//evil.\u200bexample/x'],
    ['You have won, see evil.example', 'You have won, see evil.\u200bexample'],
    ['WWW.evil.example', 'WWW.\u200bevil.\u200bexample'],
    ['ada.lovelace', 'ada.lovelace'],
    ['ada@example.com', 'ada@example.com'],
    ['Ada B. Lovelace', 'Ada B. Lovelace'],
  ])('the name %s is not linked by mail programs', (username, written) => {
    expect(safeVariables({ ...VARIABLES, username }).username).toBe(written);
  });

  it.each([
    ['https://shop.example/v?a="><script>&token=x', 'https://shop.example/v?a=%22%3E%3Cscript%3E&token=x'],
    ['http://localhost:8080/pages/v?token=x', 'http://localhost:8080/pages/v?token=x'],
    ['https://商店.example/验证 页?token=x', 'https://xn--czrs0t.example/%E9%AA%8C%E8%AF%81%20%E9%A1%B5?token=x'],
  ])('the link %s is normalized to %s', (link, written) => {
    expect(safeVariables({ ...VARIABLES, link }).link).toBe(written);
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'shop.example', '', `https://a.example/${'x'.repeat(4_096)}`])(
    '%j is not a valid link',
    (link) => {
      expect(() => safeVariables({ ...VARIABLES, link })).toThrow(/link|URL/);
    },
  );
});

describe('a language', () => {
  it.each([
    ['zh-cn', 'zh-CN'],
    ['ZH-HANT-tw', 'zh-Hant-TW'],
    ['En', 'en'],
    ['es-419', 'es-419'],
  ])('%s is normalized to %s', (tag, canonical) => {
    expect(canonicalLanguage(tag)).toBe(canonical);
  });

  it.each([
    [['zh-CN'], ['zh-CN', 'zh-Hans', 'zh', 'en']],
    // As iPhones send it.
    [['zh-Hans-CN'], ['zh-Hans-CN', 'zh-Hans', 'zh-CN', 'zh', 'en']],
    [['zh-TW'], ['zh-TW', 'zh-Hant', 'zh', 'en']],
    [['sr-Latn-RS'], ['sr-Latn-RS', 'sr-Latn', 'sr', 'en']],
    [['en-GB'], ['en-GB', 'en-Latn', 'en']],
    [['xx-ZZ'], ['xx-ZZ', 'xx', 'en']],
    [['abcd-CN'], ['abcd-CN', 'abcd', 'en']],
    [
      ['fr', 'zh-Hant-TW', 'en'],
      ['fr', 'zh-Hant-TW', 'zh-Hant', 'zh-TW', 'zh', 'en'],
    ],
    [
      ['EN', 'zh'],
      ['en', 'zh'],
    ],
    [[], ['en']],
  ])('requested %j: looked up %j', (wanted, tried) => {
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
