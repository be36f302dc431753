import { describe, expect, it } from 'vitest';
import { parseFormBody } from './page-request.js';

const TYPE = 'application/x-www-form-urlencoded';
const parse = (text: string, type = TYPE) => Object.fromEntries(parseFormBody(Buffer.from(text), type));

describe('parseFormBody', () => {
  it.each<[string, Record<string, string>]>([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&&b=2&', { a: '1', b: '2' }],
    ['a=&b', { a: '', b: '' }],
    ['a=b=c', { a: 'b=c' }],
    ['password=+a%2Bb+%26%3D%25+', { password: ' a+b &=% ' }],
    ['password=%E5%AF%86%E7%A0%81%F0%9F%98%80', { password: '密码😀' }],
    ['a=%00%0D%0A', { a: '\0\r\n' }],
    ['__proto__=x&constructor=y', { ['__proto__']: 'x', constructor: 'y' }],
  ])('reads %j', (text, fields) => {
    expect([...parseFormBody(Buffer.from(text), TYPE)]).toEqual(Object.entries(fields));
  });

  it.each([TYPE, `${TYPE};charset=UTF-8`, `${TYPE} ; charset=utf-8`, TYPE.toUpperCase()])(
    'knows forms as %s',
    (type) => {
      expect(parse('a=1', type)).toEqual({ a: '1' });
    },
  );

  it.each([
    '',
    'text/plain',
    'application/json',
    'multipart/form-data; boundary=x',
    `${TYPE}x`,
    `text/plain, ${TYPE}`,
    `x${TYPE}`,
  ])('refuses %j', (type) => {
    expect(() => parse('a=1', type)).toThrow('The form is malformed.');
  });

  it.each([
    ['a field that is there twice', 'token=a&password=x&token=b'],
    ['a field that is there twice under an escaped name', 'token=a&tok%65n=b'],
    ['a cut escape', 'a=%E'],
    ['an escape that is none', 'a=%zz'],
    ['escapes that are no UTF-8', 'a=%FF%FE'],
    ['an escaped half of a surrogate pair', 'a=%ED%A0%80'],
    ['17 fields', Array.from({ length: 17 }, (_, index) => `f${index}=`).join('&')],
  ])('refuses %s', (_, text) => {
    expect(() => parse(text)).toThrow('The form is malformed.');
  });

  it('refuses bytes that are no UTF-8, and no type at all', () => {
    expect(() => parseFormBody(Buffer.from([0x61, 0x3d, 0xff]), TYPE)).toThrow('The form is malformed.');
    expect(() => parseFormBody(Buffer.from('a=1'), undefined)).toThrow('The form is malformed.');
  });
});
