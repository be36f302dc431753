import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { parseAuthData } from './auth-data.rules.js';

const DELETE = { __op: 'Delete' };
const refused = (errorName: string) => expect.objectContaining({ errorName }) as Error;

describe('parseAuthData', () => {
  it('takes entries out of the other fields', () => {
    const body = { color: 'red', authData: { weibo: { uid: '1' } }, 'authData.github': { uid: '2' } };
    expect(parseAuthData(body)).toEqual({
      entries: [
        ['weibo', { uid: '1' }],
        ['github', { uid: '2' }],
      ],
      removed: [],
      fields: { color: 'red' },
    });
  });

  it.each<JsonObject>([
    { 'authData.weibo': DELETE },
    { 'authData.weibo': null },
    { authData: { weibo: DELETE } },
    { authData: { weibo: null } },
  ])('reads the removal %j', (body) => {
    expect(parseAuthData(body)).toEqual({ entries: [], removed: ['weibo'], fields: {} });
  });

  it('takes nothing for nothing', () => {
    for (const body of [{}, { authData: null }, { authData: {} }])
      expect(parseAuthData(body)).toEqual({ entries: [], removed: [], fields: {} });
  });

  it.each<[string, JsonObject]>([
    ['INCORRECT_TYPE', { authData: 'weibo' }],
    ['INCORRECT_TYPE', { authData: [{ uid: '1' }] }],
    ['INCORRECT_TYPE', { authData: DELETE }],
    ['INCORRECT_TYPE', { authData: { weibo: 'token' } }],
    ['INCORRECT_TYPE', { authData: { weibo: [] } }],
    ['INCORRECT_TYPE', { authData: { weibo: { __op: 'Increment', amount: 1 } } }],
    ['INCORRECT_TYPE', { authData: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`p${i}`, { uid: '1' }])) }],
    ['INVALID_KEY_NAME', { authData: { constructor: { uid: '1' } } }],
    ['INVALID_KEY_NAME', { authData: { 'a b': { uid: '1' } } }],
    ['INVALID_KEY_NAME', { authData: { '': { uid: '1' } } }],
    ['INVALID_KEY_NAME', { 'authData.weibo.uid': '1' }],
    ['INVALID_KEY_NAME', { 'authData.': { uid: '1' } }],
    ['INVALID_KEY_NAME', { authData: { weibo: { uid: '1' } }, 'authData.weibo': DELETE }],
    ['OBJECT_TOO_LARGE', { authData: { weibo: { uid: '1', token: 'x'.repeat(16 * 1024) } } }],
  ])('answers %s to %j', (errorName, body) => {
    expect(() => parseAuthData(body)).toThrow(refused(errorName));
  });
});
