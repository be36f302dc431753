import { describe, expect, it } from 'vitest';
import { toldCode } from './session-effects.js';

describe('close codes', () => {
  it('are told where somebody may look for them; what a client makes up is told as one', () => {
    expect([1000, 1006, 4111, 3000, 4999].map(toldCode)).toEqual(['1000', '1006', '4111', 'other', 'other']);
  });
});
