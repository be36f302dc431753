import { describe, expect, it } from 'vitest';
import { assertNestedKey, invalidFieldName, isFieldName } from './values.js';

describe('isFieldName', () => {
  it.each(['a', 'Z', 'color', 'a_1', 'toString', 'x'.repeat(128)])('takes %.40s', (name) => {
    expect(isFieldName(name)).toBe(true);
  });

  it.each([
    '',
    '_a',
    '1a',
    'a b',
    'a.b',
    'a-b',
    '$a',
    'ä',
    'a\n',
    'x'.repeat(129),
    '__proto__',
    'constructor',
    'prototype',
  ])('refuses %.40j', (name) => {
    expect(isFieldName(name)).toBe(false);
  });
});

describe('assertNestedKey', () => {
  it.each(['', ' ', 'a b', '1', 'ä', '_a', 'toString'])('takes %j', (key) => {
    expect(() => {
      assertNestedKey(key);
    }).not.toThrow();
  });

  it.each([
    ['__proto__', 'INVALID_KEY_NAME'],
    ['constructor', 'INVALID_KEY_NAME'],
    ['prototype', 'INVALID_KEY_NAME'],
    ['a\0', 'INVALID_KEY_NAME'],
    ['\ud800', 'INVALID_KEY_NAME'],
    ['$gt', 'INVALID_NESTED_KEY'],
    ['a$', 'INVALID_NESTED_KEY'],
    ['a.b', 'INVALID_NESTED_KEY'],
    ['.', 'INVALID_NESTED_KEY'],
  ])('refuses %j with %s', (key, errorName) => {
    expect(() => {
      assertNestedKey(key);
    }).toThrow(expect.objectContaining({ errorName }) as Error);
  });
});

describe('invalidFieldName', () => {
  it('removes terminal control characters, and shortens long names', () => {
    const { message } = invalidFieldName(`\u001b[31m\u202e${'x'.repeat(200)}`);
    expect(message).toMatch(/The column is: '\?\[31m\?x+'\.$/);
    expect(message.length).toBeLessThan(250);
  });
});
