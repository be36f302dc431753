import { describe, expect, it } from 'vitest';
import { secondsOf } from './apps.command.js';

describe('the time for which old keys are kept', () => {
  it.each([
    ['30m', 1_800],
    ['12h', 43_200],
    ['90d', 7_776_000],
    ['until-revoked', null],
  ])('%s', (text, seconds) => {
    expect(secondsOf(text)).toBe(seconds);
  });

  it.each(['', '90', '0d', '-1d', '1w', '1.5h', 'forever', '90 d'])('is not %j', (text) => {
    expect(() => secondsOf(text)).toThrow('90d');
  });
});
