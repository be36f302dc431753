import { describe, expect, it } from 'vitest';
import { visible } from './visible.rules';

describe('visible', () => {
  it.each([
    ['a direction that is turned', 'pay\u202Egnp.exe', String.raw`pay\u202egnp.exe`],
    [
      'marks and isolates of directions',
      '\u200Ea\u200F\u061C\u2066b\u2069',
      String.raw`\u200ea\u200f\u061c\u2066b\u2069`,
    ],
    ['a space without width', 'ad\u200Ba', String.raw`ad\u200ba`],
    ['joiners that join nothing', 'a\u200Db\u200C عمر\u200C', String.raw`a\u200db\u200c عمر\u200c`],
    ['a byte order mark and a soft hyphen', '\uFEFFa\u00ADb', String.raw`\ufeffa\u00adb`],
    ['blank letters', '\u3164\u115F', String.raw`\u3164\u115f`],
    ['a variation of a letter', 'a\uFE0F', String.raw`a\ufe0f`],
    ['tags, which have two units', 'a\u{E0041}', String.raw`a\udb40\udc41`],
    ['control characters and ends of lines and paragraphs', 'a\u0000\u0085\u2028', String.raw`a\u0000\u0085\u2028`],
  ])('shows %s', (_, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it.each([
    ['Persian', 'علی\u200Cرضا'],
    ['Sinhala', 'ශ්\u200Dරී'],
    ['a variant of a Chinese character', '葛\u{E0100}'],
    ['a keycap', '1\uFE0F\u20E3'],
    ['a flag of tags', '\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}'],
    ['a pictograph as text', '❤\uFE0E'],
  ])('leaves %s as it is', (_, text) => {
    expect(visible(text)).toBe(text);
  });

  it.each(['Ada Łukasz', '小明', 'عمر', 'हिन्दी', 'a\n\tb', '👩‍💻 ❤️ 👍🏽 👩🏽‍🚀 🏳️‍🌈', '{"a":"\\n"}', ''])(
    'leaves %j as it is',
    (text) => {
      expect(visible(text)).toBe(text);
    },
  );

  it('keeps the meaning of JSON', () => {
    const value = { 'k\u202Ee': ['\u200B', '\u{E0041}', '\\u202e'] };
    expect(JSON.parse(visible(JSON.stringify(value)))).toEqual(value);
  });
});
