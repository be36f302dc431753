import { createECDH, createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  areSubscriptionKeys,
  encrypt,
  newVapidKeys,
  publicKeyOf,
  signingKeyOf,
  vapidToken,
} from './web-push.crypto.js';

describe('the encryption for browsers', () => {
  it('gives the bytes of the test vector of RFC 8291', () => {
    const ecdh = createECDH('prime256v1');
    ecdh.setPrivateKey(Buffer.from('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw', 'base64url'));
    const keys = {
      p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      auth: 'BTBZMqHH6r4Tts7J_aSIgg',
    };
    const salt = Buffer.from('DGv6ra1nlYgDCS1FRnbzlw', 'base64url');
    expect(encrypt('When I grow up, I want to be a watermelon', keys, { ecdh, salt })?.toString('base64url')).toBe(
      'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
    );
  });

  it('takes keys of subscriptions only', () => {
    const { publicKey } = newVapidKeys();
    const auth = 'BTBZMqHH6r4Tts7J_aSIgg';
    expect(areSubscriptionKeys({ p256dh: publicKey, auth })).toBe(true);
    expect(areSubscriptionKeys({ p256dh: publicKey, auth: 'short' })).toBe(false);
    expect(areSubscriptionKeys({ p256dh: Buffer.alloc(65, 4).toString('base64url'), auth })).toBe(false);
    expect(areSubscriptionKeys({ p256dh: '', auth })).toBe(false);
    expect(encrypt('any', { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth })).toBeUndefined();
    expect(encrypt('any', { p256dh: publicKey, auth: 'short' })).toBeUndefined();
  });

  it('has a key pair and a salt of its own for each message', () => {
    const keys = { p256dh: newVapidKeys().publicKey, auth: 'BTBZMqHH6r4Tts7J_aSIgg' };
    const heads = Array.from({ length: 20 }, () => encrypt('any', keys)?.subarray(0, 86).toString('hex') ?? '');
    expect(new Set(heads.map((head) => head.slice(0, 32))).size).toBe(heads.length);
    expect(new Set(heads.map((head) => head.slice(42))).size).toBe(heads.length);
  });
});

describe('the keys of an application', () => {
  it('sign tokens that name the push service and the operator', async () => {
    const keys = newVapidKeys();
    expect(publicKeyOf(keys.privateKey)).toBe(keys.publicKey);
    expect(publicKeyOf('short')).toBeUndefined();
    expect(publicKeyOf(Buffer.alloc(32).toString('base64url'))).toBeUndefined();
    const key = signingKeyOf(keys);
    const expiresAt = new Date(Date.now() + 60_000);
    const token = await vapidToken(key, {
      origin: 'https://push.example',
      subject: 'mailto:ops@example.org',
      expiresAt,
    });
    const { payload } = await jwtVerify(token, createPublicKey(key));
    expect(payload).toEqual({
      aud: 'https://push.example',
      sub: 'mailto:ops@example.org',
      exp: Math.floor(expiresAt.getTime() / 1_000),
    });
  });
});
