import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import { isAppError, isServerAway } from '#errors';
import { isInterrupted, translateDriverError } from './driver-error.js';

const ofNetwork = (code: string) => Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });
const ofServer = (code: string) => Object.assign(new DatabaseError('of the server', 13, 'error'), { code });
const translated = (error: Error) => translateDriverError(error, 'SELECT 1');

describe('a failure of a statement', () => {
  it.each(['ECONNREFUSED', 'ENETUNREACH', 'ENETDOWN', 'EHOSTUNREACH', 'EHOSTDOWN', 'ECONNABORTED', 'EADDRNOTAVAIL'])(
    'of the network (%s) is an outage of the server',
    (code) => {
      const error = translated(ofNetwork(code));
      expect(isAppError(error, 'SERVICE_UNAVAILABLE')).toBe(true);
      expect(isServerAway(error)).toBe(true);
      expect(isInterrupted(error)).toBe(true);
    },
  );

  it.each([
    ['57P01', true, true],
    ['40P01', false, true],
    ['55P03', false, true],
    ['53100', false, false],
    ['53400', false, false],
    ['57014', false, false],
  ])('with SQLSTATE %s: outage %s, interrupted %s', (code, isOutage, isOutside) => {
    const error = translated(ofServer(code));
    expect(isAppError(error, 'SERVICE_UNAVAILABLE')).toBe(true);
    expect([isServerAway(error), isInterrupted(error)]).toEqual([isOutage, isOutside]);
  });
});
