import { describe, expect, it } from 'vitest';
import type { Application } from '#contracts';
import {
  readCredentials,
  readEnvironment,
  readSessionToken,
  type Signature,
  verifyCredentials,
} from './credentials.js';

/** Application and signatures of the API's own documentation. */
const application: Application = {
  id: 'documented',
  name: 'documented',
  appKey: 'UtOCzqb67d3sN12Kts4URwy8',
  masterKey: 'DyJegPlemooo4X1tg94gQkw1',
  oldKeys: [],
  secretsSet: [],
  settings: {} as Application['settings'],
  classPermissions: {} as Application['classPermissions'],
  createdAt: '2016-01-17T00:00:00.000Z',
};
const TIME = '1453014943466';
const APP_SIGN = 'd5bcbb897e19b2f6633c716dfdfaf9be';
const MASTER_SIGN = 'e074720658078c898aa0d4b1b82bdf4b';

function verify(headers: Record<string, string>): Signature | undefined {
  const credentials = readCredentials({ 'x-lc-id': 'documented', ...headers });
  return credentials === undefined ? undefined : verifyCredentials(credentials, application);
}

describe('verifyCredentials', () => {
  it.each<[string, Record<string, string>, Signature | undefined]>([
    ['the documented signature', { 'x-lc-sign': `${APP_SIGN},${TIME}` }, 'app'],
    ['the documented signature in upper case', { 'x-lc-sign': `${APP_SIGN.toUpperCase()},${TIME}` }, 'app'],
    ['the documented master signature', { 'x-lc-sign': `${MASTER_SIGN},${TIME},master` }, 'master'],
    ['the master signature without its suffix', { 'x-lc-sign': `${MASTER_SIGN},${TIME}` }, undefined],
    ['the app signature as master signature', { 'x-lc-sign': `${APP_SIGN},${TIME},master` }, undefined],
    ['a signature of another time', { 'x-lc-sign': `${APP_SIGN},1453014943467` }, undefined],
    ['a signature without a time', { 'x-lc-sign': APP_SIGN }, undefined],
    ['a signature with an unknown suffix', { 'x-lc-sign': `${APP_SIGN},${TIME},ax-sig-1` }, undefined],
    ['a signature with a line behind it', { 'x-lc-sign': `${APP_SIGN},${TIME}\n` }, undefined],
    ['the app key', { 'x-lc-key': application.appKey }, 'app'],
    ['the master key with its suffix', { 'x-lc-key': `${application.masterKey},master` }, 'master'],
    ['the master key without its suffix', { 'x-lc-key': application.masterKey }, 'app'],
    ['the app key with the suffix', { 'x-lc-key': `${application.appKey},master` }, undefined],
    ['only the suffix', { 'x-lc-key': ',master' }, undefined],
    ['the suffix in other case', { 'x-lc-key': `${application.masterKey},MASTER` }, undefined],
    ['part of the key', { 'x-lc-key': application.appKey.slice(0, -1) }, undefined],
    ['the old master header', { 'x-uluru-master-key': application.masterKey }, 'master'],
    ['the app key in the old master header', { 'x-avoscloud-master-key': application.appKey }, undefined],
    ['a wrong key beside a right signature', { 'x-lc-key': 'wrong', 'x-lc-sign': `${APP_SIGN},${TIME}` }, undefined],
    ['nothing', {}, undefined],
  ])('verifies %s', (_, headers, signature) => {
    expect(verify(headers)).toBe(signature);
  });
});

describe('verifyCredentials, where keys were replaced and are still good', () => {
  const old = { replacedAt: application.createdAt, acceptedUntil: null };
  const replaced: Application = {
    ...application,
    appKey: 'a-new-application-key',
    masterKey: 'a-new-master-key',
    oldKeys: [
      { ...old, kind: 'app', key: 'another-old-key' },
      { ...old, kind: 'app', key: application.appKey },
      { ...old, kind: 'master', key: application.masterKey },
    ],
  };
  const verifyReplaced = (headers: Record<string, string>) =>
    verifyCredentials(readCredentials({ 'x-lc-id': 'documented', ...headers })!, replaced);

  it.each<[string, Record<string, string>, Signature | undefined]>([
    ['the new app key', { 'x-lc-key': replaced.appKey }, 'app'],
    ['the old app key', { 'x-lc-key': application.appKey }, 'app'],
    ['an older one', { 'x-lc-key': 'another-old-key' }, 'app'],
    ['a signature with the old app key', { 'x-lc-sign': `${APP_SIGN},${TIME}` }, 'app'],
    ['the old app key as master key', { 'x-lc-key': `${application.appKey},master` }, undefined],
    ['the old master key', { 'x-lc-key': `${application.masterKey},master` }, 'master'],
    ['the old master key in its own header', { 'x-uluru-master-key': application.masterKey }, 'master'],
    ['a signature with the old master key', { 'x-lc-sign': `${MASTER_SIGN},${TIME},master` }, 'master'],
    ['a key that never existed', { 'x-lc-key': 'unknown-key' }, undefined],
  ])('verifies %s', (_, headers, signature) => {
    expect(verifyReplaced(headers)).toBe(signature);
  });
});

describe('readCredentials', () => {
  it('prefers the modern names', () => {
    const headers = { 'x-lc-id': 'new', 'x-avoscloud-application-id': 'old', 'x-uluru-application-key': 'k' };
    expect(readCredentials(headers)).toMatchObject({ appId: 'new', key: 'k' });
  });

  it.each(['', ' ', 'two words', 'ä', 'a'.repeat(129), 'a\n'])('takes %j for no application', (id) => {
    expect(readCredentials({ 'x-lc-id': id })).toBeUndefined();
  });

  it('reads texts made to be slow in time', () => {
    const slow = ['a', '!', '0', ',', '0,', '0,1', '0,1,master,'].map((part) => part.repeat(200_000));
    for (const text of slow) expect(readCredentials({ 'x-lc-id': text })).toBeUndefined();
    for (const text of [...slow, ...slow.map((part) => `${'0'.repeat(32)},${part}`)])
      expect(verify({ 'x-lc-sign': text })).toBeUndefined();
  });
});

describe('readEnvironment', () => {
  it.each([
    [{}, 'prod'],
    [{ 'x-lc-prod': '1' }, 'prod'],
    [{ 'x-lc-prod': '0' }, 'dev'],
    [{ 'x-avoscloud-application-production': '0' }, 'dev'],
    [{ 'x-uluru-application-production': '0' }, 'dev'],
    [{ 'x-lc-prod': '1', 'x-uluru-application-production': '0' }, 'prod'],
  ])('reads %j as %s', (headers, environment) => {
    expect(readEnvironment(headers)).toBe(environment);
  });
});

describe('readSessionToken', () => {
  it('reads every name of the header, and takes over-long texts for none', () => {
    for (const name of ['x-lc-session', 'x-avoscloud-session-token', 'x-uluru-session-token']) {
      expect(readSessionToken({ [name]: 'token' })).toBe('token');
      expect(readSessionToken({ [name]: 't'.repeat(129) })).toBeUndefined();
    }
    expect(readSessionToken({})).toBeUndefined();
  });
});
