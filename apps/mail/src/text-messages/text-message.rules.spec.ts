import { describe, expect, it } from 'vitest';
import { CODE_PURPOSES } from '#contracts';
import { textOf } from './text-message.rules.js';

describe('textOf', () => {
  it.each([
    ['generic', undefined, 10, '[Shop] 012345 is your verification code. It is valid for 10 minutes.'],
    ['generic', 'a payment', 1, '[Shop] 012345 is your verification code for a payment. It is valid for 1 minute.'],
    ['reset', undefined, 30, '[Shop] 012345 is your code to reset your password. It is valid for 30 minutes.'],
  ] as const)('says for %s (%s, %i minutes): %s', (purpose, op, ttlMinutes, text) => {
    expect(textOf({ name: 'Shop', purpose, ttlMinutes, ...(op === undefined ? {} : { op }) }, '012345')).toBe(text);
  });

  it('leads to no page that a client names', () => {
    const [name, op] = ['PayPal: unlock at https://evil.example/x', 'www.evil.example\u202e'];
    const text = textOf({ name, op, purpose: 'generic', ttlMinutes: 10 }, '012345');
    expect(text).toContain('https:\u200b//evil.\u200bexample/x');
    expect(text).not.toMatch(/\w\.\w|:\/|\u202e/);
  });

  it('has a different text for every purpose, so that users recognize a code for another purpose', () => {
    const texts = CODE_PURPOSES.map((purpose) => textOf({ name: 'Shop', purpose, ttlMinutes: 10 }, '012345'));
    expect(new Set(texts).size).toBe(CODE_PURPOSES.length);
  });
});
