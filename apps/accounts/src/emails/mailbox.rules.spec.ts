import { describe, expect, it } from 'vitest';
import { mailboxOf } from './mailbox.rules.js';

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
