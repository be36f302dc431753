import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { decodeJwt, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import { PUSH as push } from '../../../test/vendor-push.js';
import { ProviderToken } from '../access-tokens.js';
import { Http2Client } from '../http2-client.js';
import type { VendorTarget } from '../vendor-channel.rules.js';
import { ApnsChannel } from './apns.channel.js';

const MINUTE_MS = 60_000;

const target: VendorTarget = { objectId: 'i', token: 'a0'.repeat(32), platform: 'ios', topic: null, badge: null };

describe('the provider token of the channel to Apple', () => {
  /** Apple's clock, in milliseconds since 1970. */
  let appleMs: number;
  /** The difference of the server's clock from Apple's: positive where it is behind. */
  let lagMs: number;
  let tokens: Set<string>;
  let channel: ApnsChannel;
  /** In place of Apple's answer. */
  let page: { status: number; text: string } | undefined;

  const outcome = async () => (await channel.send(push, [target]))[0]?.kind;

  beforeEach(() => {
    [lagMs, appleMs, tokens, page] = [0, Date.now(), new Set(), undefined];
    const clock = new Clock();
    vi.spyOn(clock, 'now').mockImplementation(() => new Date(appleMs - lagMs));
    vi.spyOn(Http2Client.prototype, 'request').mockImplementation(({ headers }) => {
      const [, token = ''] = (headers['authorization'] ?? '').split(' ');
      tokens.add(token);
      const isValid = Math.abs(appleMs - (decodeJwt(token).iat ?? 0) * 1_000) <= 60 * MINUTE_MS;
      const answer = isValid ? { status: 200, text: '' } : { status: 403, text: '{"reason":"ExpiredProviderToken"}' };
      return Promise.resolve({ headers: {}, ...(page ?? answer) });
    });
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const credentials = { teamId: 'TEAM123456', keyId: 'KEY1234567', topics: 'com.example.app', privateKey: pem };
    channel = new ApnsChannel(credentials, ['com.example.app'], 'prod', {
      url: 'https://localhost:1',
      connections: 1,
      clock,
    });
  });
  afterEach(() => {
    channel.close();
    vi.restoreAllMocks();
  });

  it.each([
    ['of OpenSSL', (key: KeyObject) => key.export({ type: 'sec1', format: 'pem' }).toString()],
    [
      'of a certificate store',
      (key: KeyObject) => `Bag Attributes\n${key.export({ type: 'pkcs8', format: 'pem' }).toString()}`,
    ],
  ])('is signed with a key in the form %s', async (_, formOf) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const credentials = { teamId: 'TEAM123456', keyId: 'KEY1234567', privateKey: formOf(privateKey) };
    const token = await new ProviderToken(credentials, new Clock()).get();
    expect((await jwtVerify(token, createPublicKey(privateKey))).payload.iss).toBe('TEAM123456');
  });

  it.each([
    [200, '<html>Log in</html>'],
    [204, ''],
    [302, ''],
    [403, '<html>Blocked</html>'],
    [410, '<html>Gone</html>'],
  ])('has no answer of Apple where a proxy answers %i %j', async (status, text) => {
    page = { status, text };
    const reason = `status ${status} of another server`;
    expect(await channel.send(push, [target])).toEqual([
      { kind: 'unsure', reason: `no answer (${reason})`, scope: 'lane' },
    ]);
    expect(await channel.check()).toEqual({ isRefusal: false, text: `No answer from Apple: ${reason}.` });
  });

  it('is used for 40 minutes', async () => {
    for (let minute = 0; minute <= 80; minute += 5) {
      expect(await outcome()).toBe('accepted');
      appleMs += 5 * MINUTE_MS;
    }
    expect(tokens.size).toBe(2);
  });

  it.each([
    ['behind', 120],
    ['ahead', -120],
  ])('of a clock that is two hours %s is replaced once the clock is right', async (_, minutes) => {
    lagMs = minutes * MINUTE_MS;
    expect(await outcome()).toBe('credentials');
    expect(await outcome()).toBe('credentials');
    expect(tokens.size).toBe(1);
    lagMs = 0;
    expect(await outcome()).toBe('accepted');
  });

  it('is replaced where Apple finds it too old, but not within 20 minutes', async () => {
    lagMs = 50 * MINUTE_MS;
    expect(await outcome()).toBe('accepted');
    appleMs += 11 * MINUTE_MS;
    expect(await outcome()).toBe('credentials');
    appleMs += 10 * MINUTE_MS;
    expect(await outcome()).toBe('accepted');
    expect(tokens.size).toBe(2);
  });
});
