import { describe, expect, it } from 'vitest';
import type { ClassName, ImportedObject, ImportNote, JsonObject } from '#contracts';
import { parseImportedRow } from './imported-object.js';

const TIMES = { createdAt: '2019-02-23T09:04:21.137Z', updatedAt: '2026-09-30T11:22:33.444Z' };
const SALT = 'k3m9x0c7v1b5n2a8s6d4f0g7h3j1l9q5w2e8r6t0y4u7i1o3';
const HASH = 'tPgez79nTsL63aY6nmuin7Cps3Hg1L5TqM17SPNM+u1QcBIVHwGpf/RY9ME7UZ5+Pfb5w7Kdz5WuHP4JLlsj/w==';
const BCRYPT_BODY = 'N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';
const userRow = (more: JsonObject = {}): JsonObject => ({ objectId: 'u1', username: 'ada', ...TIMES, ...more });

function parsed(className: ClassName, row: JsonObject): { object: ImportedObject; notes: readonly ImportNote[] } {
  const result = parseImportedRow(className, row);
  if ('refused' in result) throw new Error(`the row is refused: ${JSON.stringify(result.refused)}`);
  return result;
}
const user = (more: JsonObject = {}) => parsed('_User', userRow(more));
const noted = (more: JsonObject) => user(more).notes.map(({ field }) => field);
const refusal = (className: ClassName, row: JsonObject) => {
  const result = parseImportedRow(className, row);
  return 'refused' in result ? [result.objectId, result.refused.field] : undefined;
};

describe('the users of an export', () => {
  it('keep id, times, address, custom fields, ACL, password and session token', () => {
    const row = {
      ...{ salt: SALT, email: 'ada@example.com', sessionToken: 'q1w2e3r4t5y6u7i8o9p0a1s2d', password: HASH },
      ...{ applyAt: { __type: 'Date', iso: '2019-03-01T08:00:00.000Z' }, nickName: 'Ada', emailVerified: true },
      ...{ objectId: '5c710c95c05a807a4d9d7001', username: 'ada', mobilePhoneVerified: false, ...TIMES },
      ACL: { '*': { read: true, write: true } },
    };
    expect(parsed('_User', row)).toEqual({
      notes: [],
      object: {
        objectId: '5c710c95c05a807a4d9d7001',
        ...TIMES,
        acl: { '*': { read: true, write: true } },
        columns: { username: 'ada', email: 'ada@example.com', emailVerified: true, mobilePhoneVerified: false },
        fields: { applyAt: { __type: 'Date', iso: '2019-03-01T08:00:00.000Z' }, nickName: 'Ada' },
        password: { scheme: 'leancloud', salt: SALT, hash: HASH },
        sessionToken: 'q1w2e3r4t5y6u7i8o9p0a1s2d',
      },
    });
  });

  it.each([
    ['+8613800000002', '+8613800000002'],
    ['13800000002', '+8613800000002'],
    ['+14155550100', '+14155550100'],
  ])('have the number %s as %s', (mobilePhoneNumber, stored) => {
    const { object, notes } = user({ mobilePhoneNumber, mobilePhoneVerified: true });
    expect(object.columns).toMatchObject({ mobilePhoneNumber: stored, mobilePhoneVerified: true });
    expect(notes).toEqual([]);
  });

  it('have no state of an address or number that they lack', () => {
    const { columns } = user({
      emailVerified: true,
      mobilePhoneVerified: true,
      email: null,
      mobilePhoneNumber: '',
    }).object;
    expect(columns).toEqual({ username: 'ada', emailVerified: null, mobilePhoneVerified: false });
  });

  it('lose an invalid address or number with its state', () => {
    const { object, notes } = user({ email: 'no address', emailVerified: true, mobilePhoneNumber: '1' });
    expect(notes.map(({ field }) => field).sort()).toEqual(['email', 'mobilePhoneNumber']);
    expect(object.columns).toEqual({ username: 'ada', emailVerified: null, mobilePhoneVerified: false });
  });

  it('keep ids of other servers', () => {
    for (const objectId of ['fchpZwSuGG', 'title', 'constructor', '-', 'x'.repeat(64)])
      expect(user({ objectId }).object.objectId).toBe(objectId);
  });

  it.each([
    ['objectId', { objectId: 'a b' }, undefined],
    ['objectId', { objectId: 7 }, undefined],
    ['objectId', { objectId: '__proto__' }, undefined],
    ['objectId', { objectId: 'x'.repeat(65) }, undefined],
    ['updatedAt', { updatedAt: 'yesterday' }, 'u1'],
    ['updatedAt', { updatedAt: null }, 'u1'],
    ['updatedAt', { updatedAt: '0000-01-01T00:00:00.000Z' }, 'u1'],
    ['username', { username: '' }, 'u1'],
    ['username', { username: 7 }, 'u1'],
    ['username', { username: 'x'.repeat(256) }, 'u1'],
    ['username', { username: 'a\0b' }, 'u1'],
    ['username', { username: { __op: 'Delete' } }, 'u1'],
  ])('are refused for their %s: %j', (field, change, objectId) => {
    expect(refusal('_User', userRow(change))).toEqual([objectId, field]);
  });

  it('begin at their last change where createdAt is missing', () => {
    const { object, notes } = user({ createdAt: null });
    expect([object.createdAt, notes.map(({ field }) => field)]).toEqual([TIMES.updatedAt, ['createdAt']]);
  });

  it('accept Date values as times', () => {
    const updatedAt = { __type: 'Date', iso: TIMES.updatedAt };
    expect(user({ updatedAt }).object.updatedAt).toBe(TIMES.updatedAt);
  });

  it('lose custom fields that cannot be stored, and no others', () => {
    const { object, notes } = user({
      ...{ 'a.b': 1, $or: 1, prototype: 1, constructor: 1, operation: { __op: 'Increment', amount: 1 } },
      ...{ nul: 'a\0b', surrogate: '\ud800', nested: { $where: 1 }, list: [{ __proto__x: 1 }], none: null, empty: '' },
      ...{
        point: { __type: 'GeoPoint', latitude: 39.9, longitude: 116.4 },
        bytes: { __type: 'Bytes', base64: 'AQ==' },
      },
      friend: { __type: 'Pointer', className: '_User', objectId: 'u2' },
    });
    expect(Object.keys(object.fields).sort()).toEqual(['bytes', 'empty', 'friend', 'list', 'none', 'point']);
    const lost = ['$or', 'a.b', 'constructor', 'nested', 'nul', 'operation', 'prototype', 'surrogate'];
    expect(notes.map(({ field }) => field).sort()).toEqual(lost);
  });

  it('have a note where a whole number is too large to be exact, and keep it', () => {
    const text = '{"long":9007199254740993,"list":[{"id":-1e300}],"safe":9007199254740991,"part":0.1}';
    const { object, notes } = user(JSON.parse(text) as JsonObject);
    expect(Object.keys(object.fields)).toEqual(['long', 'list', 'safe', 'part']);
    expect(notes.map(({ field, reason }) => `${field} ${reason}`)).toEqual([
      'long holds a whole number over 2^53, which may be rounded',
      'list holds a whole number over 2^53, which may be rounded',
    ]);
  });

  it('reach no prototype', () => {
    const row = JSON.parse(
      `{"objectId":"u1","username":"ada","updatedAt":"${TIMES.updatedAt}","createdAt":"${TIMES.createdAt}","__proto__":{"evil":1},"authData":{"__proto__":{"uid":"x"},"constructor":{"uid":"x"}}}`,
    ) as JsonObject;
    const { object, notes } = parsed('_User', row);
    expect(Object.getPrototypeOf(object.fields)).toBe(Object.prototype);
    expect([object.fields, object.identities]).toEqual([{}, undefined]);
    expect(notes.map(({ field }) => field)).toEqual(['__proto__', 'authData.__proto__', 'authData.constructor']);
  });

  it('have no value of theirs in a note, nor a key with control characters', () => {
    const secret = 'SECRET-VALUE';
    const { notes } = user({
      ...{ email: `${secret} x`, mobilePhoneNumber: secret, password: secret, sessionToken: `${secret} x` },
      ...{
        ACL: { [secret]: 7 },
        authData: { weixin: { token: secret }, 'b\u001b[d': {} },
        [`k\u001b[31m${'k'.repeat(99)}`]: secret,
      },
    });
    const text = JSON.stringify(notes);
    expect(notes.length).toBe(8);
    expect(text).not.toContain(secret);
    expect(notes.every(({ field }) => /^[\x20-\x7e]{1,80}$/.test(field))).toBe(true);
  });
});

describe('the ACL of an exported object', () => {
  it.each([
    [undefined, null],
    [null, null],
    [{}, {}],
    [{ '*': { read: true, write: false }, 'role:a': { read: false } }, { '*': { read: true } }],
  ])('%j becomes %j', (given, stored) => {
    const { object, notes } = user(given === undefined ? {} : { ACL: given });
    expect([object.acl, notes]).toEqual([stored, []]);
  });

  it.each([
    [7],
    ['*'],
    [[]],
    [{ '*': true }],
    [{ 'a b': { read: true } }],
    [{ '*': { read: 1 } }],
    [{ '*': { rule: true } }],
  ])('%j closes the object', (given) => {
    const { object, notes } = user({ ACL: given as JsonObject });
    expect([object.acl, notes.map(({ field }) => field)]).toEqual([{}, ['ACL']]);
  });
});

describe('the password of an exported user', () => {
  const password = (more: JsonObject) => user(more).object.password;

  it.each(['a', 'b', 'x', 'y'])('is a bcrypt hash of version 2%s in either field', (version) => {
    const hash = `$2${version}$10$${BCRYPT_BODY}`;
    for (const more of [{ password: hash }, { bcryptPassword: hash }, { password: hash, salt: SALT }])
      expect(password(more)).toEqual({ scheme: 'bcrypt', hash });
  });

  it.each([
    ['04', true],
    ['15', true],
    ['03', false],
    ['16', false],
    ['31', false],
    ['99', false],
  ])('of bcrypt cost %s is accepted: %s', (cost, isAccepted) => {
    const more = { password: `$2b$${cost}$${BCRYPT_BODY}` };
    expect([password(more) !== undefined, noted(more)]).toEqual([isAccepted, isAccepted ? [] : ['password']]);
  });

  it('may have an empty salt, but needs one', () => {
    expect(password({ password: HASH, salt: '' })).toEqual({ scheme: 'leancloud', salt: '', hash: HASH });
    for (const salt of [undefined, null, 7, 'x'.repeat(257)])
      expect(noted({ password: HASH, ...(salt === undefined ? {} : { salt }) })).toEqual(['password']);
  });

  it.each([
    ['plain text'],
    [`${HASH}=`],
    [HASH.slice(1)],
    [`$2b$10$${BCRYPT_BODY}x`],
    [`$2c$10$${BCRYPT_BODY}`],
    [7],
    [{}],
  ])('%j is of an unknown form: the user goes in without it', (hash) => {
    const more = { password: hash as string, salt: SALT };
    expect([password(more), noted(more)]).toEqual([undefined, ['password']]);
  });

  it.each([[{}], [{ password: null, salt: null }], [{ salt: SALT }]])('may be missing: %j', (more) => {
    expect([password(more), noted(more)]).toEqual([undefined, []]);
  });
});

describe('the session token of an exported user', () => {
  it('is kept where it is visible ASCII of at most 128 characters', () => {
    for (const sessionToken of ['x', 'x'.repeat(128)])
      expect(user({ sessionToken }).object.sessionToken).toBe(sessionToken);
    for (const sessionToken of ['', 'x'.repeat(129), 'a b', 'ä', 7]) {
      const { object, notes } = user({ sessionToken });
      expect([object.sessionToken, notes.map(({ field }) => field)]).toEqual([undefined, ['sessionToken']]);
    }
    expect(noted({ sessionToken: null })).toEqual([]);
  });
});

describe('the devices of an export', () => {
  const device = (more: JsonObject) =>
    parsed('_Installation', { objectId: 'd1', installationId: 'i1', deviceType: 'android', ...TIMES, ...more });

  it.each(['', null])('have no field of a vendor where it is %j', (blank) => {
    const { object, notes } = device({ vendor: blank, registrationId: blank, badge: null, color: blank });
    expect([object.fields, notes]).toEqual([{ color: blank }, []]);
  });

  it('are incomplete where a field is an operation', () => {
    const { object, notes } = device({ vendor: { __op: 'Delete' }, color: { __op: 'Delete' } });
    expect([object.fields, notes.map(({ field }) => field)]).toEqual([{}, ['vendor', 'color']]);
  });
});
