import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import { isAppError, isServerAway, reasonOf } from '#errors';
import { isInterrupted, isUnreached, translateDriverError } from './driver-error.js';

const ofNetwork = (code: string) => Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });
const ofServer = (code: string) => Object.assign(new DatabaseError('of the server', 13, 'error'), { code });
const translated = (error: Error) => translateDriverError(error, 'SELECT 1');

describe('a server', () => {
  it.each([
    [true, ofNetwork('ECONNREFUSED')],
    [true, ofNetwork('ENOTFOUND')],
    [true, ofServer('57P03')],
    [true, ofServer('28P01')],
    [true, ofServer('3D000')],
    [true, new Error('timeout expired')],
    [true, new Error('The server does not support SSL connections')],
    [false, ofServer('53100')],
    [false, ofServer('42P01')],
    [false, new Error('a fault of the program')],
  ])('is not reached: %s, after %s', (expected, thrown) => {
    expect([isUnreached(thrown), isUnreached(translated(thrown))]).toEqual([expected, expected]);
  });
});

describe('a failure of a statement', () => {
  it.each([
    'ECONNREFUSED',
    'ENETUNREACH',
    'ENETDOWN',
    'EHOSTUNREACH',
    'EHOSTDOWN',
    'ECONNABORTED',
    'EADDRNOTAVAIL',
    'EAI_FAIL',
  ])('of the network (%s) is an outage of the server', (code) => {
    const error = translated(ofNetwork(code));
    expect(isAppError(error, 'SERVICE_UNAVAILABLE')).toBe(true);
    expect(isServerAway(error)).toBe(true);
    expect(isInterrupted(error)).toBe(true);
  });

  it.each([
    ['57P01', true, true],
    ['40P01', false, true],
    ['55P03', false, true],
    ['25006', false, true],
    ['53100', false, false],
    ['53400', false, false],
    ['57014', false, false],
    ['25P03', false, false],
    ['58030', false, false],
    ['28000', false, true],
    ['28P01', false, true],
    ['3D000', false, true],
  ])('with SQLSTATE %s: outage %s, interrupted %s', (code, isOutage, isOutside) => {
    const error = translated(ofServer(code));
    expect(isAppError(error, 'SERVICE_UNAVAILABLE')).toBe(true);
    expect([isServerAway(error), isInterrupted(error)]).toEqual([isOutage, isOutside]);
  });

  it.each([
    Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
    Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' }),
    Object.assign(new Error('unable to verify'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }),
    Object.assign(new Error('other name'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
    new Error('The server does not support SSL connections'),
    new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
  ])(
    'of TLS or of the login ($message) is no outage, so that it is logged, and no failure of the statement',
    (thrown) => {
      const error = translated(thrown);
      expect(isAppError(error, 'SERVICE_UNAVAILABLE')).toBe(true);
      expect([isServerAway(error), isInterrupted(error)]).toEqual([false, true]);
    },
  );

  it.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'EACCES', 'EPERM', 'EPROTO'])(
    'to open a connection on this system (%s) is temporary, and logged',
    (code) => {
      const error = translated(ofNetwork(code));
      expect(isAppError(error, 'SERVICE_UNAVAILABLE')).toBe(true);
      expect([isServerAway(error), isInterrupted(error)]).toEqual([false, true]);
    },
  );

  it.each(['42501', '55000'])('at the login to the database (SQLSTATE %s) is temporary, and logged', (code) => {
    const error = translated(Object.assign(ofServer(code), { routine: 'CheckMyDatabase' }));
    expect(isAppError(error, 'SERVICE_UNAVAILABLE')).toBe(true);
    expect([isServerAway(error), isInterrupted(error)]).toEqual([false, true]);
    expect(isAppError(translated(ofServer(code)), 'SERVICE_UNAVAILABLE')).toBe(false);
  });

  it('of a pooler has its text, which alone says what to change', () => {
    const refusal = Object.assign(new DatabaseError('unsupported startup parameter: options', 13, 'error'), {
      code: '08P01',
    });
    expect(reasonOf(translated(refusal))).toBe('PostgreSQL: 08P01 (unsupported startup parameter: options)');
  });

  it.each([ofServer('22P02'), new Error('of the program')])('of its own (%s) is not temporary', (thrown) => {
    expect(isAppError(translated(thrown), 'SERVICE_UNAVAILABLE')).toBe(false);
  });
});
