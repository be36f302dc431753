import { describe, expect, it } from 'vitest';
import { isNoteDue } from './login-note.rules.js';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

describe('isNoteDue', () => {
  it('is for the first login of a new user, however soon', () => {
    expect(isNoteDue({ createdAt: at(0), updatedAt: at(0) }, at(0))).toBe(true);
  });

  it('is once a minute from then on', () => {
    const user = { createdAt: at(0), updatedAt: at(1) };
    expect([2, 60, 61, 600].map((second) => isNoteDue(user, at(second)))).toEqual([false, false, true, true]);
  });

  it('is not where another clock is ahead', () => {
    expect(isNoteDue({ createdAt: at(0), updatedAt: at(9) }, at(5))).toBe(false);
  });
});
