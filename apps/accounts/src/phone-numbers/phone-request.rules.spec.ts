import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#contracts';
import {
  findPhoneNumber,
  parseMessageOptions,
  parseSmsCode,
  parseTtlMinutes,
  requirePhoneNumber,
} from './phone-request.rules.js';

describe('requirePhoneNumber', () => {
  it.each([
    ['+8613812345678', '+8613812345678'],
    ['13812345678', '+8613812345678'],
  ])('reads %s', (mobilePhoneNumber, number) => {
    expect(requirePhoneNumber({ mobilePhoneNumber })).toBe(number);
  });

  it.each([undefined, null, ''])('misses the number where it is %j', (value) => {
    const body = (value === undefined ? {} : { mobilePhoneNumber: value }) as JsonObject;
    expect(() => requirePhoneNumber(body)).toThrow(expect.objectContaining({ errorName: 'PHONE_MISSING' }));
    expect(findPhoneNumber(body)).toBeUndefined();
  });

  it.each<JsonValue>([13812345678, true, {}, [], ' ', '+', 'abc', '+86 138', '+8613812345678\n', '١٢٣٤٥٦٧'])(
    'refuses %j',
    (mobilePhoneNumber) => {
      expect(() => requirePhoneNumber({ mobilePhoneNumber })).toThrow(
        expect.objectContaining({ errorName: 'INVALID_PHONE' }),
      );
    },
  );
});

describe('parseSmsCode', () => {
  it('takes six digits', () => {
    expect(parseSmsCode('012345')).toBe('012345');
  });

  it.each<[JsonValue, string]>([
    ['012345', '012345'],
    [123456, '123456'],
    [12345, '012345'],
  ])('reads %j', (value, code) => {
    expect(parseSmsCode(value)).toBe(code);
  });

  it.each<JsonValue | undefined>([
    undefined,
    null,
    '',
    '12345',
    '1234567',
    ' 12345',
    '12345\n',
    '123456\n',
    '12345a',
    '１２３４５６',
    '٠١٢٣٤٥',
    1234567,
    -12345,
    12.5,
    ['123456'],
    { $ne: '' },
  ])('refuses %j', (value) => {
    expect(() => parseSmsCode(value)).toThrow(expect.objectContaining({ errorName: 'INVALID_SMS_CODE' }));
  });
});

describe('parseTtlMinutes', () => {
  it.each<[JsonObject, number]>([
    [{}, 6],
    [{ ttl: null }, 6],
    [{ ttl: 1 }, 1],
    [{ ttl: 30 }, 30],
    [{ ttl: '10' }, 10],
    // The default of the SDKs for C# and Flutter.
    [{ ttl: 360 }, 30],
    [{ ttl: 1e300 }, 30],
  ])('reads %j as %i minutes', (body, minutes) => {
    expect(parseTtlMinutes(body, 6)).toBe(minutes);
  });

  it.each<JsonValue>([0, -1, 1.5, '0', '1.5', '', ' ', true, [], {}])('refuses %j', (ttl) => {
    expect(() => parseTtlMinutes({ ttl }, 6)).toThrow(expect.objectContaining({ errorName: 'INCORRECT_TYPE' }));
  });
});

describe('parseMessageOptions', () => {
  it('reads the options of the message, and takes other members as variables of its template', () => {
    const body = {
      mobilePhoneNumber: '13812345678',
      validate_token: 'ignored',
      ttl: 5,
      smsType: 'voice',
      name: 'Shop',
      op: 'a payment',
      template: 'payment',
      sign: 'us',
      order: 'A-7',
      amount: 9.5,
      isGift: true,
      nothing: null,
    };
    expect(parseMessageOptions(body)).toEqual({
      smsType: 'voice',
      name: 'Shop',
      op: 'a payment',
      template: 'payment',
      sign: 'us',
      variables: { order: 'A-7', amount: '9.5', isGift: 'true' },
    });
  });

  it('accepts a body without options', () => {
    expect(parseMessageOptions({ name: null, op: '', smsType: null })).toEqual({ smsType: 'sms' });
  });

  it.each<[string, JsonObject]>([
    ['an unknown type', { smsType: 'pigeon' }],
    ['a type that is blank', { smsType: '' }],
    ['a name that is no text', { name: { first: 'Shop' } }],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['a line break', { name: 'Shop\nYou have won' }],
    ['an escape sequence', { op: '\u001b[2J' }],
    ['a NUL character', { op: 'a\0b' }],
    ['half of a surrogate pair', { sign: '\ud800' }],
    ['a template name of 65 characters', { template: 'x'.repeat(65) }],
    ['a variable of 201 characters', { order: 'x'.repeat(201) }],
    ['a variable that is an object', { order: { id: 1 } }],
    ['a variable that is a list', { order: ['A-7'] }],
    ['a variable with another name', { 'or der': 'A-7' }],
    ['21 variables', Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`v${index}`, 'x']))],
  ])('refuses %s', (_, body) => {
    expect(() => parseMessageOptions(body)).toThrow(expect.objectContaining({ errorName: 'INCORRECT_TYPE' }));
  });

  it('names the member that it refuses, as the client sent it', () => {
    expect(() => parseMessageOptions({ order: 'x'.repeat(201) })).toThrow(/^order: must be/);
    expect(() => parseMessageOptions({ name: 'x'.repeat(101) })).toThrow(/^name: must be/);
  });

  it('counts characters as people do', () => {
    expect(parseMessageOptions({ name: '😀'.repeat(100) }).name).toHaveLength(200);
  });
});
