import { describe, expect, it } from 'vitest';
import { languagesOf, mailboxOf, pageUrlOf } from './mail-sender.js';

describe('pageUrlOf', () => {
  const settings = { verifyEmailPage: 'https://shop.example/verify', resetPasswordPage: '' };

  it('is the page of the application', () => {
    expect(pageUrlOf('verifyEmail', settings)).toBe('https://shop.example/verify');
  });

  it('is null without a page', () => {
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
  ])('of %j, with the application language zh: %j', (wanted, expected) => {
    expect(languagesOf(wanted, { mailLanguage: 'zh' })).toEqual(expected);
  });
});

describe('mailboxOf', () => {
  it.each([
    ['ada@example.com', 'ada@example.com'],
    ['Ada@Example.COM', 'ada@example.com'],
    ['ada+one@example.com', 'ada@example.com'],
    ['ada+one+two@example.com', 'ada@example.com'],
    ['+ada@example.com', '+ada@example.com'],
    ['ada.lovelace@example.com', 'ada.lovelace@example.com'],
    ['Ädä@exämple.de', 'ädä@xn--exmple-cua.de'],
    ['ädä@XN--exmple-CUA.de', 'ädä@xn--exmple-cua.de'],
    ['ada@xn--no-such-form-.de', 'ada@xn--no-such-form-.de'],
    ['ＡＤＡ@example.com', 'ada@example.com'],
  ])('%s leads to %s', (email, mailbox) => {
    expect(mailboxOf(email)).toBe(mailbox);
  });
});
