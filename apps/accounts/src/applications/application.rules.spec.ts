import { describe, expect, it } from 'vitest';
import { parseSetting } from './application.rules.js';

describe('parseSetting', () => {
  it('reads a value as JSON', () => {
    expect(parseSetting('hideContact', 'true')).toEqual({ hideContact: true });
    expect(parseSetting('hideContact', ' false ')).toEqual({ hideContact: false });
  });

  it.each([
    ['hideContact', 'yes', 'INCORRECT_TYPE'],
    ['hideContact', '1', 'INCORRECT_TYPE'],
    ['hideContact', 'null', 'INCORRECT_TYPE'],
    ['hidecontact', 'true', 'NOT_SUPPORTED'],
    ['__proto__', 'true', 'NOT_SUPPORTED'],
    ['toString', 'true', 'NOT_SUPPORTED'],
  ])('refuses %s=%s', (name, text, errorName) => {
    expect(() => parseSetting(name, text)).toThrow(expect.objectContaining({ errorName }) as Error);
  });

  it('lists the settings where the name is unknown', () => {
    expect(() => parseSetting('hideContakt', 'true')).toThrow(/hideContakt.*hideContact/s);
  });
});
