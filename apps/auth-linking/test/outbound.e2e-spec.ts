import dns, { type LookupAddress } from 'node:dns';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject, PlatformKind } from '#contracts';
import { AppError } from '#errors';
import { PlatformServer } from '#testing';
import { PlatformHttp } from '../src/platforms/platform-http.js';
import { PlatformVerifiers } from '../src/platforms/platform-verifiers.js';
import { honestEntries, refusalOf, useVerifiers } from './use-verifiers.js';

const MAX_ANSWER_MS = 3_000;
/** In which a platform has to answer. */
const PLATFORM_TIMEOUT_MS = 2_500;
const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE', code: 503, status: 503 };

describe('a platform that is down', () => {
  const verifiers = useVerifiers();

  it.each([
    ['hang', 'no answer within 2500 ms'],
    ['hang-after-headers', 'no answer within 2500 ms'],
    ['drip', 'no answer within 2500 ms'],
    ['status-500', 'status 500'],
    ['too-many-requests', 'status 429'],
    ['redirect', 'status 302'],
    ['rubbish', 'status 200 without a JSON object'],
    ['array', 'status 200 without a JSON object'],
    ['huge', 'UND_ERR_RES_EXCEEDED_MAX_SIZE'],
    ['reset', 'UND_ERR_SOCKET'],
  ] as const)('%s: 503 from every platform within three seconds, and no secret in it', async (fault, reason) => {
    const { server, verify } = verifiers();
    const entries: Record<PlatformKind, JsonObject> = {
      ...(await honestEntries(server)),
      lc_apple: { uid: 'U', code: 'a-code-of-apple' },
    };
    for (const kind of server.kinds) server.break(kind, fault);
    const startedAt = performance.now();
    const errors = await Promise.all(server.kinds.map((kind) => refusalOf(verify(kind, entries[kind]))));
    expect(performance.now() - startedAt).toBeLessThan(MAX_ANSWER_MS);
    const secrets = [
      ...Object.values(entries).flatMap(secretsOf),
      ...Object.values(server.credentials).flatMap(secretsOf),
    ];
    errors.forEach((error, index) => {
      const kind = server.kinds[index]!;
      expect(error).toMatchObject({ ...UNAVAILABLE, cause: { message: `${kind}: ${reason}` } });
      expect(error.message).toBe(`The platform ${kind} is not available. Please try again.`);
      const inspected = inspect(error, { depth: 9, showHidden: true });
      for (const secret of secrets) expect(inspected).not.toContain(secret);
    });
    expect(server.trapped).toBe(0);
  });

  it('while one platform hangs, each request gets its response in time, and other platforms respond', async () => {
    const { server, verify } = verifiers();
    const { weixin, qq } = await honestEntries(server);
    server.break('weixin', 'hang');
    const startedAt = performance.now();
    const hanging = Array.from({ length: 200 }, () => refusalOf(verify('weixin', weixin)));
    expect(await verify('qq', qq)).toMatchObject({ uid: 'U' });
    expect(performance.now() - startedAt).toBeLessThan(PLATFORM_TIMEOUT_MS);
    for (const error of await Promise.all(hanging)) expect(error).toMatchObject(UNAVAILABLE);
    // No request waits for the end of another one. Of 200 at once, the last ones take over three seconds on a busy machine.
    expect(performance.now() - startedAt).toBeLessThan(2 * PLATFORM_TIMEOUT_MS);
    server.mend();
    expect(await verify('weixin', weixin)).toMatchObject({ uid: 'U' });
  });

  it('a slow exchange leaves less time for the key set: still three seconds', async () => {
    const { server, verify } = verifiers();
    const code = await server.apple.issueCode({ sub: 'U' });
    server.slowDown('lc_apple', 2_000);
    const startedAt = performance.now();
    expect(await refusalOf(verify('lc_apple', { uid: 'U', code }))).toMatchObject(UNAVAILABLE);
    expect(server.calls('lc_apple').map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/auth/token', '/auth/keys']),
    );
    expect(performance.now() - startedAt).toBeLessThan(MAX_ANSWER_MS);
  });
});

describe('requests into internal networks', () => {
  let server: PlatformServer | undefined;
  let http: PlatformHttp | undefined;

  afterEach(async () => {
    vi.restoreAllMocks();
    await http?.onApplicationShutdown();
    await server?.stop();
    [http, server] = [undefined, undefined];
  });

  const verifyAt = async (url: string, internalNetworks: readonly string[] = []) => {
    await http?.onApplicationShutdown();
    http = new PlatformHttp({ platformUrls: new Map([['weixin', url]]), internalNetworks });
    const verifier = new PlatformVerifiers(http).of('weixin');
    return () => verifier.verify({ platform: 'weixin', uid: 'U', entry: { access_token: 'T' } }, { appId: 'A' });
  };
  const causeAt = async (url: string, internalNetworks?: readonly string[]) => {
    const startedAt = performance.now();
    const error = await refusalOf((await verifyAt(url, internalNetworks))());
    expect(error).toMatchObject(UNAVAILABLE);
    expect(performance.now() - startedAt).toBeLessThan(MAX_ANSWER_MS);
    return (error.cause as Error).message;
  };
  const nameLeadsTo = (...answers: string[][]) => {
    const lookup = vi.spyOn(dns, 'lookup');
    lookup.mockImplementation(((_name: string, _options: object, callback: (...args: unknown[]) => void) => {
      const addresses = answers.length > 1 ? answers.shift() : answers[0];
      callback(
        null,
        addresses?.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    }) as unknown as typeof dns.lookup);
  };

  it.each([
    ['loopback', '127.0.0.1'],
    ['loopback, shortened', '127.1'],
    ['loopback, as one number', '2130706433'],
    ['loopback, in hexadecimal', '0x7f000001'],
    ['loopback, in octal', '0177.0.0.1'],
    ['this host', '0.0.0.0'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '192.168.1.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['link-local: the metadata of a cloud', '169.254.169.254'],
    ['IPv6 loopback', '[::1]'],
    ['IPv6 unspecified', '[::]'],
    ['IPv4 loopback as IPv6', '[::ffff:127.0.0.1]'],
    ['IPv4 metadata as IPv6', '[::ffff:a9fe:a9fe]'],
    ['IPv6 unique local', '[fd00:ec2::254]'],
    ['IPv6 link-local', '[fe80::1]'],
    ['NAT64 of a private address', '[64:ff9b::a00:1]'],
    ['6to4 of a private address', '[2002:a00:1::1]'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
  ])('%s (%s) is not reached', async (_, host) => {
    expect(await causeAt(`http://${host}:1/`)).toBe('weixin: INTERNAL_ADDRESS');
  });

  it('a name that resolves to loopback is not reached', async () => {
    server = await PlatformServer.start();
    expect(await causeAt(server.url('weixin', 'localhost'))).toBe('weixin: INTERNAL_ADDRESS');
    expect(server.calls('weixin')).toEqual([]);
  });

  it.each([['127.0.0.1'], ['127.0.0.0/8'], ['loopback']])(
    'addresses in GATEPOST_INTERNAL_NETWORKS (%s) are reached',
    async (of) => {
      server = await PlatformServer.start();
      nameLeadsTo(['127.0.0.1']);
      for (const host of ['127.0.0.1', 'platform.test']) {
        await expect((await verifyAt(server.url('weixin', host), [of]))()).rejects.toBeInstanceOf(AppError);
      }
      expect(server.calls('weixin')).toHaveLength(2);
    },
  );

  it('DNS: only the allowed addresses of a name are connected to', async () => {
    server = await PlatformServer.start();
    nameLeadsTo(['169.254.169.254', '::1', '127.0.0.1']);
    await refusalOf((await verifyAt(server.url('weixin', 'platform.test'), ['127.0.0.1']))());
    expect(server.calls('weixin')).toHaveLength(1);
  });

  it('DNS rebinding: a name that resolves to another address the second time is not reached', async () => {
    server = await PlatformServer.start();
    nameLeadsTo(['127.0.0.1'], ['127.0.0.2']);
    const verify = await verifyAt(server.url('weixin', 'platform.test'), ['127.0.0.1']);
    expect(await refusalOf(verify())).toMatchObject({ errorName: 'INVALID_WEIXIN_IDENTITY' });
    server.breakConnections();
    // Waits until the first connection is closed.
    await vi.waitFor(async () => {
      expect((await refusalOf(verify())).cause).toMatchObject({ message: 'weixin: INTERNAL_ADDRESS' });
    });
    expect(server.calls('weixin')).toHaveLength(1);
  });

  it.each([
    ['refused', 'http://127.0.0.1:1', /^weixin: ECONNREFUSED$/],
    // A resolver without a network answers EAI_AGAIN.
    ['an unknown name', 'http://no-such-host.invalid', /^weixin: (?:ENOTFOUND|EAI_AGAIN)$/],
  ])('%s is a failure as any other', async (_, url, cause) => {
    expect(await causeAt(url, ['loopback'])).toMatch(cause);
  });

  it('a server without TLS is a failure like any other', async () => {
    server = await PlatformServer.start();
    expect(await causeAt(server.url('weixin').replace('http:', 'https:'), ['127.0.0.1'])).toMatch(/^weixin: \w+$/);
    expect(server.calls('weixin')).toEqual([]);
  });
});

function secretsOf(fields: object): string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    /token|code|mac_key|secret|privateKey/i.test(name) && name !== 'token_type' ? [String(value)] : [],
  );
}
