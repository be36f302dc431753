import { describe, expect, it } from 'vitest';
import { toPostgresPattern } from './pattern.js';

const translate = (source: string, options = '') => toPostgresPattern(source, options).pattern;

describe('toPostgresPattern', () => {
  it.each([
    ['', '***:'],
    ['abc', '***:abc'],
    ['^a.c$', '***:^a[^\\n]c$'],
    ['ä😀', '***:ä😀'],
    ['a b_c-d', '***:a\\ b\\_c\\-d'],
    ['a{b}', '***:a\\{b\\}'],
    ['a]', '***:a\\]'],
    ['\\.\\-\\/\\\\', '***:\\.\\-\\/\\\\'],
    ['\\d\\W\\s\\t\\n', '***:\\d\\W\\s\\\t\\\n'],
    ['\\bx\\B', '***:\\yx\\Y'],
    ['\\Ax\\z', '***:\\Ax\\Z'],
    ['\\x41\\u0042\\x{1F600}\\x2e', '***:AB😀\\.'],
    ['(a|b)*c+?d{2,3}e{4,}?', '***:(?:a|b)*c+d{2,3}e{4,}'],
    ['(?:a)(?=b)(?!c)(?<=d)(?<!e)', '***:(?:a)(?=b)(?!c)(?<=d)(?<!e)'],
    ['a||b', '***:a||b'],
    ['()', '***:(?:)'],
    ['[abc]', '***:[abc]'],
    ['[^a-z\\d_.]', '***:[^a-z\\d\\_\\.]'],
    ['[]a]', '***:[\\]a]'],
    ['[^]a]', '***:[^\\]a]'],
    ['[a-]', '***:[a\\-]'],
    ['[[.]', '***:[\\[\\.]'],
    ['[[:alpha:]\\]]', '***:[[:alpha:]\\]]'],
    ['[\\b\\x41-\\x43]', '***:[\\\bA-C]'],
    ['[\\d-x]', '***:[\\d\\-x]'],
    ['\\Qa.b*c\\E', '***:a\\.b\\*c'],
    ['^\\Qa\\E\\\\E\\Qb\\E', '***:^a\\\\Eb'],
    ['\\Qa]\\E*', '***:a\\]*'],
    ['\\Qopen', '***:open'],
    ['a\\E', '***:a'],
    ['\\Q\\E', '***:'],
    ['\\\\Q', '***:\\\\Q'],
    ['[\\Q]^\\E]', '***:[\\]\\^]'],
    ['\\Q***:(?i)\\E', '***:\\*\\*\\*\\:\\(\\?i\\)'],
  ])('turns %j into %j', (source, pattern) => {
    expect(translate(source)).toBe(pattern);
  });

  it.each([
    ['a.b', 'i', '***:(?i)a[^\\n]b'],
    ['a.b', 's', '***:a.b'],
    ['^a$', 'm', '***:(?w)^a$'],
    ['^a.$', 'ims', '***:(?iw)^a.$'],
    ['a b #c\n d [ ] {2}', 'x', '***:abd[\\ ]{2}'],
    ['\\Qa b\\E c', 'x', '***:a\\ bc'],
    ['a #c', 'x', '***:a'],
    ['(?i)a', '', '***:(?i)a'],
    ['(?is).', 'm', '***:(?iw).'],
  ])('with options converts %j %j to %j', (source, options, pattern) => {
    expect(translate(source, options)).toBe(pattern);
  });

  it.each([
    ['a back-reference', '(a)\\1'],
    ['a named back-reference', '\\k<a>'],
    ['a named group', '(?<a>b)'],
    ['a named group', '(?P<a>b)'],
    ['an atomic group', '(?>a)'],
    ['a comment', '(?#a)'],
    ['options in the middle', 'a(?i)b'],
    ['a verb', '(*FAIL)'],
    ['a possessive quantifier', 'a++'],
    ['a repeated repetition', 'a**'],
    ['a repeated repetition', 'a{1}{2}'],
    ['a repetition of nothing', '*a'],
    ['a repetition of nothing', 'a|+'],
    ['a repetition of nothing', '(?:{2})'],
    ['a repeated anchor', '^*'],
    ['a repeated constraint', '\\b+'],
    ['a repeated look-ahead', '(?=a)*'],
    ['an impossible repetition', 'a{3,2}'],
    ['a long repetition', 'a{256}'],
    ['a long repetition', 'a{1,999999999}'],
    ['an open group', '(a'],
    ['a closed group', 'a)'],
    ['an open class', '[a'],
    ['an empty class', '[]'],
    ['a range without end', '[a-\\d]'],
    ['a range from its end', '[z-a]'],
    ['a constraint in a class', '[\\B]'],
    ['half an escape', 'a\\'],
    ['a property', '\\p{L}'],
    ['half a character', '\\u12'],
    ['no character', '\\x{110000}'],
    ['a NUL character', '\\x00'],
    ['half a character', '\\ud83d'],
    ['a NUL character', 'a\0'],
    ['half a character', '\ud800'],
    ['many parts', '(?:a{50}){50}'],
    ['many levels', `${'('.repeat(17)}${')'.repeat(17)}`],
    ['many characters', `\\Q${'a'.repeat(1_100)}\\E`],
  ])('takes no pattern with %s', (_, source) => {
    expect(() => translate(source)).toThrow(expect.objectContaining({ errorName: 'INVALID_QUERY' }) as Error);
  });

  // A conversion in more than linear time would exceed the test's timeout.
  it.each(['(', '[', '\\Q', '\\', '(?:', 'a{', '[[:', '#', '\\x{'])(
    'converts or rejects many repetitions of %s',
    (part) => {
      for (const options of ['', 'x']) {
        const outcome = outcomeOf(() => translate(part.repeat(1_024 / part.length), options));
        expect(outcome).toMatch(/^translated|INVALID_QUERY$/);
      }
    },
  );
});

function outcomeOf(work: () => unknown): string {
  try {
    work();
    return 'translated';
  } catch (error) {
    return String((error as { errorName?: string }).errorName);
  }
}
