import { describe, expect, it } from 'vitest';
import { languages } from '#contracts';
import { acceptedLanguages } from './request.decorators.js';

describe('acceptedLanguages', () => {
  it.each<[string | undefined, string[]]>([
    [undefined, []],
    ['', []],
    ['*', []],
    ['zh', ['zh']],
    ['zh-CN,zh;q=0.9,en;q=0.8', ['zh-CN', 'zh', 'en']],
    ['en;q=0.5, de-AT;q=0.75 ,zh-Hans-CN', ['zh-Hans-CN', 'de-AT', 'en']],
    ['en ; Q=0.5,zh ;q=1.000', ['zh', 'en']],
    ['fr;q=0.5,en;q=0.5,zh;q=0.5', ['fr', 'en', 'zh']],
    ['en,EN-us,en-US;q=0.1,EN', ['EN', 'en-US']],
    ['en;q=0,zh;q=0.000', []],
    ['a,b,c,aa,bb,cc,dd,ee,ff,gg,hh', ['aa', 'bb', 'cc', 'dd', 'ee', 'ff']],
  ])('reads %j as %j', (header, expected) => {
    expect(acceptedLanguages(header).map((tag) => tag.toLowerCase())).toEqual(expected.map((tag) => tag.toLowerCase()));
  });

  it.each([
    'en;q=2',
    'en;q=-1',
    'en;q=1.001',
    'en;q=0.1234',
    'en;q=',
    'en;level=1',
    'en;q=1;q=1',
    'e',
    'english-language-of-england-and-more',
    'en_US',
    'en-',
    '-en',
    'en\0',
    '../../etc/passwd',
    '<script>',
    'en\r\nBcc: x@example.com',
    'ｅｎ',
    ';;;;',
  ])('leaves out the malformed part %j, and keeps the others', (part) => {
    expect(acceptedLanguages(`${part},zh;q=0.1`)).toEqual(['zh']);
  });

  it.each([
    'en,'.repeat(100_000),
    `en${'-a'.repeat(100_000)}`,
    `en;q=${'0'.repeat(100_000)}`,
    `en;q=0.${'0'.repeat(100_000)}`,
    ' '.repeat(100_000),
    `en;${' '.repeat(100_000)}q=1`,
    ','.repeat(100_000),
    ';'.repeat(100_000),
  ])('reads a long header in time, and gives what its contract allows', (header) => {
    const found = acceptedLanguages(`zh,${header}`);
    expect(found).toContain('zh');
    expect(languages.safeParse(found).success).toBe(true);
  });

  it('does not cut a language in two', () => {
    expect(acceptedLanguages(`${'x,'.repeat(126)}zh,de-Latn-DE`)).toEqual(['zh']);
  });
});
