import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue, PlatformKind } from '#contracts';
import { unique } from '#testing';
import { honestEntries, refusalOf, useVerifiers } from './use-verifiers.js';

/** The field of an entry that holds the proof. */
const TOKEN_FIELDS: Readonly<Record<PlatformKind, string>> = {
  weixin: 'access_token',
  weibo: 'access_token',
  qq: 'access_token',
  taptap: 'mac_key',
  lc_apple: 'identity_token',
  lc_weapp: 'code',
  lc_qqapp: 'code',
  lc_baidu: 'code',
  lc_alipay: 'code',
  lc_tt: 'code',
};
const KINDS = Object.keys(TOKEN_FIELDS) as PlatformKind[];
const CODE_KINDS = KINDS.filter((kind) => TOKEN_FIELDS[kind] === 'code');

describe('hostile entries of authData', () => {
  const verifiers = useVerifiers();

  it.each<[string, JsonValue]>([
    ['an operator object', { $ne: null }],
    ['an update operation', { __op: 'Delete' }],
    ['a number', 1],
    ['true', true],
    ['an array', ['token']],
    ['a text of 100,000 characters', 'x'.repeat(100_000)],
    ['a line break and a header', 'token\r\nX-Evil: 1'],
    ['a NUL byte', 'token\0'],
    ['a space', 'to ken'],
    ['nothing', ''],
    ['null', null],
  ])('%s in place of a token or code is refused before anything is asked', async (_, token) => {
    const { server, verify } = verifiers();
    for (const kind of KINDS) {
      const before = server.calls(kind).length;
      const entry = { ...(await honestEntries(server))[kind], [TOKEN_FIELDS[kind]]: token };
      if (kind === 'lc_apple') delete entry['code'];
      expect(await refusalOf(verify(kind, entry, { uid: 'U' })), kind).toMatchObject({ status: 400 });
      expect(server.calls(kind), kind).toHaveLength(before);
    }
  });

  it.each<[string, JsonObject]>([
    ['empty', {}],
    ['partial (only an id)', { uid: 'victim', openid: 'victim' }],
    ['one whose token is inherited', Object.create({ access_token: 'T', code: 'C', mac_key: 'K' }) as JsonObject],
  ])('an entry that is %s proves nothing', async (_, entry) => {
    const { server, verify } = verifiers();
    for (const kind of KINDS) {
      const before = server.calls(kind).length;
      expect(await refusalOf(verify(kind, entry, { uid: 'victim' })), kind).toMatchObject({
        errorName: kind === 'weixin' ? 'INVALID_WEIXIN_IDENTITY' : 'INVALID_IDENTITY',
        message: expect.stringContaining(`Invalid authData of ${kind}: `) as string,
      });
      expect(server.calls(kind), kind).toHaveLength(before);
    }
  });

  it.each([undefined, ''])('a claim with the id %j is refused on platforms without codes', async (uid) => {
    const { server, verify } = verifiers();
    const entries = await honestEntries(server);
    for (const kind of KINDS.filter((other) => !CODE_KINDS.includes(other))) {
      const entry = { ...entries[kind], uid: null, openid: null };
      expect(await refusalOf(verify(kind, entry, { uid })), kind).toMatchObject({ errorName: 'IDENTITY_MISSING' });
    }
  });

  it.each(['empty', 'odd-types'] as const)('a response without a user (%s) is a refusal', async (fault) => {
    const { server, verify } = verifiers();
    const entries = await honestEntries(server);
    for (const kind of KINDS) {
      server.break(kind, fault);
      // With a code, because an identity token is verified without a request to the platform.
      const entry = kind === 'lc_apple' ? { uid: 'U', code: 'C' } : entries[kind];
      expect(await refusalOf(verify(kind, entry, { uid: 'U' })), kind).toMatchObject({ status: 400 });
    }
  });

  it("a taptap key id cannot break out of its header's quotes", async () => {
    const { server, verify } = verifiers();
    const entry = { ...server.taptap.issueToken({ openid: 'O', unionid: 'U' }), kid: '1/x",ts="0' };
    const before = server.calls('taptap').length;
    expect(await refusalOf(verify('taptap', entry))).toMatchObject({ errorName: 'INVALID_IDENTITY' });
    expect(server.calls('taptap')).toHaveLength(before);
  });
});

describe('codes of mini programs', () => {
  const verifiers = useVerifiers();

  it.each(CODE_KINDS)('%s: a used or invented code is refused with a clear reason', async (kind) => {
    const { server, verify } = verifiers();
    const { [kind]: entry } = await honestEntries(server);
    await verify(kind, entry);
    const text = `Invalid authData of ${kind}: the code is wrong, used or too old.`;
    expect(await refusalOf(verify(kind, entry))).toMatchObject({ errorName: 'INVALID_IDENTITY', message: text });
    expect(await refusalOf(verify(kind, { code: 'made-up' }))).toMatchObject({ message: text });
  });

  it.each(CODE_KINDS)('%s: one of 20 concurrent requests with the same code succeeds', async (kind) => {
    const { server, verify } = verifiers();
    const { [kind]: entry } = await honestEntries(server);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => verify(kind, entry)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it.each(CODE_KINDS)('%s: a code with the id of another user is refused', async (kind) => {
    const { server, verify } = verifiers();
    const { [kind]: entry } = await honestEntries(server);
    expect(await refusalOf(verify(kind, entry, { uid: 'victim' }))).toMatchObject({
      message: expect.stringContaining('another user') as string,
    });
  });
});

describe('credentials of several applications', () => {
  const verifiers = useVerifiers();

  it('verifications at the same time share no state: each sees its own application only', async () => {
    const { server, verify } = verifiers();
    const outcomes = Array.from({ length: 60 }, async (_, n) => {
      const [own, uid] = [n % 3 === 0 ? '1111111111' : '2222222222', String(1_000_000 + n)];
      const entry = server.weibo.issueToken({ uid, appKey: '1111111111' });
      const outcome = verify('weibo', entry, { credentials: { appKey: own } });
      if (own === '1111111111') expect(await outcome).toEqual({ uid });
      else expect(await refusalOf(outcome)).toMatchObject({ errorName: 'INVALID_IDENTITY' });
    });
    await Promise.all(outcomes);
  });

  it.each(CODE_KINDS)('%s: a wrong secret in the credentials is a 503, not a refusal', async (kind) => {
    const { server, verify } = verifiers();
    const { [kind]: entry } = await honestEntries(server);
    const wrong = unique('wrong');
    const credentials = kind === 'lc_alipay' ? { appId: wrong } : { appSecret: wrong };
    const error = await refusalOf(verify(kind, entry, { credentials }));
    expect(error).toMatchObject({ errorName: 'SERVICE_UNAVAILABLE', status: 503 });
    expect(error.cause).toMatchObject({ message: expect.stringMatching(`^${kind}: error `) as string });
    expect(await verify(kind, entry)).toBeDefined();
  });

  it('an invalid private key in the credentials is logged without its content', async () => {
    const { server, verify } = verifiers();
    const entries = await honestEntries(server);
    const credentials = { privateKey: '-----BEGIN PRIVATE KEY-----\nhush-hush\n-----END PRIVATE KEY-----' };
    const apple = refusalOf(verify('lc_apple', { uid: 'U', code: 'C' }, { credentials }));
    const alipay = refusalOf(verify('lc_alipay', entries.lc_alipay, { credentials }));
    for (const error of await Promise.all([apple, alipay])) {
      expect(error).toMatchObject({
        status: 503,
        cause: { message: expect.stringContaining('not readable') as string },
      });
      expect(JSON.stringify([error.message, error.cause])).not.toContain('hush');
    }
  });
});
