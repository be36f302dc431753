import { describe, expect, it } from 'vitest';
import { closeCodeLabel } from './session-effects.js';

describe('close codes', () => {
  it('have labels of their own in metrics; unknown codes share one label', () => {
    expect([1000, 1006, 4111, 3000, 4999].map(closeCodeLabel)).toEqual(['1000', '1006', '4111', 'other', 'other']);
  });
});
