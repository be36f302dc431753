import { describe, expect, it } from 'vitest';
import { parseSetting } from './application.rules.js';

describe('parseSetting', () => {
  it('reads a value as JSON', () => {
    expect(parseSetting('hideContact', 'true')).toEqual({ hideContact: true });
    expect(parseSetting('hideContact', ' false ')).toEqual({ hideContact: false });
    const verifyEmailPage = 'HTTPS://Example.com/verify';
    expect(parseSetting('verifyEmailPage', verifyEmailPage)).toEqual({ verifyEmailPage });
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

  it.each([
    ['hideContact', 'maybe', 'hideContact: must be true or false'],
    ['testPhones', '{"1":"123456"}', 'testPhones: numbers must have the form +8613800000000'],
    ['testPhones', '{"+8613800000000":"2"}', 'testPhones: codes must have 6 digits'],
    ['testPhones', '1', 'testPhones: must be a JSON object of numbers and codes, such as {"+8613800000000":"123456"}'],
    ['forwardPaths', 'x', 'forwardPaths: must be a JSON list of paths, such as ["/1.1/classes/*"]'],
    ['forwardPaths', '["x"]', /^forwardPaths: paths must begin with \/1\.1\//],
    ['verifyEmailPage', 'x', /^verifyEmailPage: must be a URL such as https:\/\/example\.com\/verify/],
    ['verifyEmailPage', 'https://ada@example.com', /^verifyEmailPage: must be a URL such as/],
    ['forwardUrl', '7', /^forwardUrl: must be a URL such as/],
  ])('says what %s needs instead of %s', (name, text, message) => {
    expect(() => parseSetting(name, text)).toThrow(message);
  });

  it('lists the settings where the name is unknown', () => {
    expect(() => parseSetting('hideContakt', 'true')).toThrow(/hideContakt.*hideContact/s);
  });
});
