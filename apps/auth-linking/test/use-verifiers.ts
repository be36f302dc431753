import { afterAll, afterEach, beforeAll } from 'vitest';
import type { JsonObject, PlatformCredentials, PlatformKind } from '#contracts';
import { AppError } from '#errors';
import { type PlatformServer, usePlatforms } from '#testing';
import { PlatformHttp } from '../src/platforms/platform-http.js';
import { PlatformVerifiers } from '../src/platforms/platform-verifiers.js';
import type { Proof } from '../src/platforms/platform.rules.js';

/** The verifiers of the service, with a server that imitates the platforms. */
export interface VerifiersUnderTest {
  readonly server: PlatformServer;
  /** Verifies an entry with the credentials of the server, unless others are given. */
  readonly verify: <Kind extends PlatformKind>(
    kind: Kind,
    entry: JsonObject,
    options?: VerifyOptions<Kind>,
  ) => Promise<Proof>;
}

interface VerifyOptions<Kind extends PlatformKind> {
  /** Replaces the id in the entry. */
  readonly uid?: string | undefined;
  readonly credentials?: Partial<PlatformCredentials<Kind>>;
}

/** Starts a server of platforms and its verifiers for the tests of a suite. */
export function useVerifiers(): () => VerifiersUnderTest {
  const platforms = usePlatforms();
  let http: PlatformHttp | undefined;
  let verifiers: VerifiersUnderTest | undefined;
  beforeAll(() => {
    const server = platforms();
    http = new PlatformHttp({
      platformUrls: new Map(server.kinds.map((kind) => [kind, server.url(kind)])),
      internalNetworks: ['127.0.0.1'],
    });
    verifiers = verifiersBefore(server, new PlatformVerifiers(http));
  });
  afterEach(() => {
    platforms().mend();
  });
  afterAll(() => http?.onApplicationShutdown());
  return () => {
    if (verifiers === undefined) throw new Error('the verifiers exist only while tests run');
    return verifiers;
  };
}

function verifiersBefore(server: PlatformServer, verifiers: PlatformVerifiers): VerifiersUnderTest {
  return {
    server,
    verify: (kind, entry, options = {}) =>
      verifiers.of(kind).verify({ platform: kind, uid: 'uid' in options ? options.uid : uidOf(entry), entry }, {
        ...server.credentials[kind],
        ...options.credentials,
      } as PlatformCredentials<typeof kind>),
  };
}

function uidOf({ uid, openid }: JsonObject): string | undefined {
  const id = uid ?? openid;
  return typeof id === 'string' ? id : undefined;
}

/** Valid entries, one per kind, of the user `U`. */
export async function honestEntries(server: PlatformServer): Promise<Readonly<Record<PlatformKind, JsonObject>>> {
  const account = { openid: 'U', unionid: 'UU' };
  return {
    weixin: server.weixin.issueToken(account),
    weibo: server.weibo.issueToken({ uid: '7' }),
    qq: server.qq.issueToken(account),
    taptap: server.taptap.issueToken(account),
    lc_apple: { uid: 'U', identity_token: await server.apple.identityToken({ sub: 'U' }) },
    lc_weapp: { code: server.weapp.issueCode(account) },
    lc_qqapp: { code: server.qqapp.issueCode(account) },
    lc_baidu: { code: server.baidu.issueCode({ openid: 'U' }) },
    lc_alipay: { code: server.alipay.issueCode({ userId: 'U' }) },
    lc_tt: { code: server.tt.issueCode(account) },
  };
}

/** @returns the AppError of a verification. @throws Error for any other outcome */
export async function refusalOf(verification: Promise<Proof>): Promise<AppError> {
  const outcome = await verification.catch((error: unknown) => error);
  if (outcome instanceof AppError) return outcome;
  throw new Error(`no refusal: ${String(outcome)}`);
}
