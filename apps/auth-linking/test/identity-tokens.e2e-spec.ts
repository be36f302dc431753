import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';
import { base64url, exportJWK, SignJWT } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newSigningKey, unique } from '#testing';
import { refusalOf, useVerifiers } from './use-verifiers.js';

const ISSUER = 'https://appleid.apple.com';
const HOUR_MS = 3_600_000;
const REFUSED = { errorName: 'INVALID_IDENTITY', code: 251, status: 400 };

describe('identity tokens of Apple', () => {
  const verifiers = useVerifiers();
  const claims = (sub = 'S') => ({
    iss: ISSUER,
    aud: 'com.example.app',
    sub,
    exp: Math.floor(Date.now() / 1_000) + 600,
  });
  const verifyToken = (identity_token: string, uid = 'S') => verifiers().verify('lc_apple', { uid, identity_token });

  it('a token for any of the configured client ids proves its user', async () => {
    const { apple } = verifiers().server;
    expect(await verifyToken(await apple.identityToken({ sub: 'S' }))).toEqual({ uid: 'S' });
    expect(await verifyToken(await apple.identityToken({ sub: 'S', aud: 'com.example.web' }))).toEqual({ uid: 'S' });
  });

  it.each([
    ["audience: another app's token", { sub: 'S', aud: 'com.attacker.app' }],
    ['audience: our list as one value', { sub: 'S', aud: 'com.example.app,com.example.web' }],
    ['issuer: another one', { sub: 'S', iss: 'https://appleid.apple.com.attacker.example' }],
    ['expiry: a token of yesterday', { sub: 'S', secondsLeft: -60 }],
    ['subject: another user', { sub: 'attacker' }],
    ['subject: empty', { sub: '' }],
  ])('%s is refused', async (_, of) => {
    expect(await refusalOf(verifyToken(await verifiers().server.apple.identityToken(of)))).toMatchObject(REFUSED);
  });

  it.each(['exp', 'sub', 'aud', 'iss'] as const)('a token without %s is refused', async (missing) => {
    const { kid, privateKey } = verifiers().server.apple.signingKey;
    const { [missing]: _, ...rest } = claims();
    const token = await new SignJWT(rest).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
    expect(await refusalOf(verifyToken(token))).toMatchObject(REFUSED);
  });

  it.each(['none', 'None', ''])('algorithm confusion: "%s" needs no signature, and is refused', async (alg) => {
    const { kid } = verifiers().server.apple.signingKey;
    const token = `${base64url.encode(JSON.stringify({ alg, kid }))}.${base64url.encode(JSON.stringify(claims()))}.`;
    expect(await refusalOf(verifyToken(token))).toMatchObject(REFUSED);
  });

  it('algorithm confusion: HS256 with the public key as its secret is refused', async () => {
    const { kid, publicKey } = verifiers().server.apple.signingKey;
    const secrets = [publicKey.export({ type: 'spki', format: 'pem' }), JSON.stringify(await exportJWK(publicKey))];
    for (const secret of secrets) {
      const token = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid }).sign(Buffer.from(secret));
      expect(await refusalOf(verifyToken(token))).toMatchObject(REFUSED);
    }
  });

  it("another key under Apple's key id is refused, and so is a key in the token", async () => {
    const { apple } = verifiers().server;
    const { privateKey, publicKey } = newSigningKey();
    const { kid } = apple.signingKey;
    const jku = `${verifiers().server.url('lc_apple')}/attacker`;
    const sign = (header: object) =>
      new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(privateKey);
    const jwk = { ...(await exportJWK(publicKey)), kty: 'RSA' };
    for (const header of [{}, { jwk }, { jku }, { kid: 'unknown' }, { kid: 'unknown', jwk, jku }]) {
      expect(await refusalOf(verifyToken(await sign(header)))).toMatchObject(REFUSED);
    }
    expect(
      verifiers()
        .server.calls('lc_apple')
        .filter(({ path }) => path === '/attacker'),
    ).toEqual([]);
  });

  it.each(['', 'a.b', 'a.b.c.d.e', `${'x'.repeat(20_000)}.y.z`, 'not a token'])(
    '"%.10s…" is not a token',
    async (token) => {
      expect(await refusalOf(verifyToken(token))).toMatchObject(REFUSED);
    },
  );

  it('a refusal reveals nothing of the token', async () => {
    const token = await verifiers().server.apple.identityToken({ sub: 'S', aud: 'x', email: 'ada@example.com' });
    const error = await refusalOf(verifyToken(token));
    for (const part of [...token.split('.'), 'ada@']) expect(inspect(error, { depth: 9 })).not.toContain(part);
  });
});

describe('a key set that leaves the algorithm open', () => {
  const verifiers = useVerifiers();

  it.each(['RS384', 'PS256'])("algorithm confusion: %s, though with Apple's own key, is refused", async (alg) => {
    const { server, verify } = verifiers();
    server.apple.namesAlgorithm = false;
    const { kid, privateKey } = server.apple.signingKey;
    const sign = (by: string) =>
      new SignJWT({ iss: ISSUER, aud: 'com.example.app', sub: 'S' })
        .setProtectedHeader({ alg: by, kid })
        .setExpirationTime('10m')
        .sign(privateKey);
    expect(await verify('lc_apple', { uid: 'S', identity_token: await sign('RS256') })).toEqual({ uid: 'S' });
    const forged = { uid: 'S', identity_token: await sign(alg) };
    expect(await refusalOf(verify('lc_apple', forged))).toMatchObject(REFUSED);
  });
});

describe('the key set of Apple', () => {
  const verifiers = useVerifiers();
  const keyRequests = () =>
    verifiers()
      .server.calls('lc_apple')
      .filter(({ path }) => path === '/auth/keys').length;
  const verifyNew = async (key?: { kid: string; privateKey: KeyObject }) => {
    const identity_token = await verifiers().server.apple.identityToken({ sub: 'S' }, key);
    return verifiers().verify('lc_apple', { uid: 'S', identity_token });
  };
  let passed = 0;
  /** The key set is shared by all tests, as in one service. */
  const passTime = (ms: number) => {
    vi.useRealTimers();
    passed += ms;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + passed });
  };
  afterEach(() => vi.useRealTimers());

  it('is requested once for many concurrent and successive tokens', async () => {
    await Promise.all(Array.from({ length: 30 }, () => verifyNew()));
    for (let i = 0; i < 5; i += 1) await verifyNew();
    expect(keyRequests()).toBe(1);
  });

  it('is requested again after ten minutes', async () => {
    const before = keyRequests();
    passTime(HOUR_MS);
    await Promise.all([verifyNew(), verifyNew()]);
    expect(keyRequests()).toBe(before + 1);
  });

  it('invented key ids trigger at most one request in 30 seconds', async () => {
    await verifyNew();
    passTime(HOUR_MS);
    await verifyNew();
    const before = keyRequests();
    const { privateKey } = newSigningKey();
    const flood = () =>
      Promise.all(Array.from({ length: 30 }, () => refusalOf(verifyNew({ kid: unique('kid'), privateKey }))));
    await flood();
    expect(keyRequests()).toBe(before);
    passTime(31_000);
    await flood();
    expect(keyRequests()).toBe(before + 1);
  });

  it('key rotation: tokens of the new key are accepted, and those of the removed key are refused', async () => {
    passTime(HOUR_MS);
    await verifyNew();
    const { apple } = verifiers().server;
    const old = apple.signingKey;
    apple.rotateKeys();
    passTime(31_000);
    expect(await verifyNew()).toEqual({ uid: 'S' });
    expect(await refusalOf(verifyNew(old))).toMatchObject(REFUSED);
  });

  it('while it is unavailable, no token is accepted: 503', async () => {
    passTime(HOUR_MS);
    verifiers().server.break('lc_apple', 'status-500');
    expect(await refusalOf(verifyNew())).toMatchObject({ status: 503 });
    verifiers().server.break('lc_apple', 'empty');
    expect(await refusalOf(verifyNew())).toMatchObject({ status: 503 });
    verifiers().server.mend();
    expect(await verifyNew()).toEqual({ uid: 'S' });
  });
});

describe("the exchange of Apple's codes", () => {
  const verifiers = useVerifiers();
  const verifyCode = (code: string, credentials = {}) =>
    verifiers().verify('lc_apple', { uid: 'S', code }, { credentials });

  it('a code works once', async () => {
    const code = await verifiers().server.apple.issueCode({ sub: 'S' });
    expect(await verifyCode(code)).toEqual({ uid: 'S' });
    expect(await refusalOf(verifyCode(code))).toMatchObject({
      ...REFUSED,
      message: expect.stringMatching(/code/) as string,
    });
  });

  it.each([
    ['of another user', { sub: 'attacker' }],
    ['for another app', { sub: 'S', aud: 'com.attacker.app' }],
    ['that has expired', { sub: 'S', secondsLeft: -60 }],
  ])('the identity token of a code is verified like any other: one %s is refused', async (_, of) => {
    expect(await refusalOf(verifyCode(await verifiers().server.apple.issueCode(of)))).toMatchObject(REFUSED);
  });

  it('a code does not replace a refused token', async () => {
    const { apple } = verifiers().server;
    const entry = {
      uid: 'S',
      identity_token: await apple.identityToken({ sub: 'S', aud: 'x' }),
      code: await apple.issueCode({ sub: 'S' }),
    };
    expect(await refusalOf(verifiers().verify('lc_apple', entry))).toMatchObject(REFUSED);
    expect(await verifyCode(entry.code)).toEqual({ uid: 'S' });
  });

  it('without a private key codes are refused; with an invalid one the result is 503', async () => {
    const code = await verifiers().server.apple.issueCode({ sub: 'S' });
    expect(await refusalOf(verifyCode(code, { privateKey: undefined }))).toMatchObject(REFUSED);
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const error = await refusalOf(verifyCode(code, { privateKey }));
    expect(error).toMatchObject({ status: 503, cause: { message: expect.stringMatching(/invalid_client/) as string } });
    expect(await verifyCode(code)).toEqual({ uid: 'S' });
  });
});
