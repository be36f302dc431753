import { describe, expect, it } from 'vitest';
import { languagesOf, pageUrlOf } from './mail-request.rules.js';

describe('pageUrlOf', () => {
  const settings = { verifyEmailPage: 'https://shop.example/verify', resetPasswordPage: '' };

  it('is the page that the application has set', () => {
    expect(pageUrlOf('verifyEmail', settings)).toBe('https://shop.example/verify');
  });

  it('is none where it has set none', () => {
    expect(pageUrlOf('resetPassword', settings)).toBeNull();
  });
});

describe('languagesOf', () => {
  it.each([
    [[], ['zh']],
    [['en'], ['en', 'zh']],
    [
      ['zh', 'en'],
      ['zh', 'en'],
    ],
    [
      ['a1', 'b1', 'c1', 'd1', 'e1', 'f1'],
      ['a1', 'b1', 'c1', 'd1', 'e1', 'zh'],
    ],
  ])('makes of %j, in an application that writes zh: %j', (wanted, expected) => {
    expect(languagesOf(wanted, { mailLanguage: 'zh' })).toEqual(expected);
  });
});
