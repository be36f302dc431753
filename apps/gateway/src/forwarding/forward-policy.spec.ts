import { describe, expect, it } from 'vitest';
import { applicationSettings } from '#contracts';
import { hasBeenForwarded, headersForClient, headersForTarget, isForwarded } from './forward-policy.js';

const { forwardPaths } = applicationSettings.parse({});
const isSent = (url: string, patterns: readonly string[] = forwardPaths, method = 'GET') =>
  isForwarded({ method, url }, patterns);

describe('the paths that are forwarded', () => {
  it.each([
    '/1.1/classes/Post',
    '/1.1/classes/Post/5a?where={"a":"../b"}',
    '/1.1/classes/_File',
    '/1.1/classes/_Conversation',
    '/1.1/scan/classes/Post?limit=1',
    '/1.1/cloudQuery?cql=select',
    '/1.1/files',
    '/1.1/files/%E6%96%87.png',
    '/1.1/fileTokens',
    '/1.1/functions/hello',
    '/1.1/call/averageStars',
    '/1.1/rtm/messages/history',
    '/1.1/LiveQuery/subscribe',
    '/1.1/leaderboard/leaderboards/score/ranks',
    '/1.1/users/5a/friendship/5b',
    '/1.1/users/friendshipRequests',
    '/1.1/users/friendshipRequests/5a/accept',
    '/1.1/users/self/friends',
    '/1.1/users/self/friendBlocklist/5a',
    '/1.1/statuses',
    '/1.1/search/select',
    '/1.1/requestCaptcha',
  ])('contain %s', (url) => {
    expect(isSent(url)).toBe(true);
  });

  it.each([
    '/',
    '/1.1/',
    '/1.1/users',
    '/1.1/unknown',
    '/1.1/classes',
    '/1.1/classes/',
    '/1.1/classes//Post',
    '/1.1/cloudQuery/x',
    '/1.1/filesystem',
    '/1/classes/Post',
    '/v1/classes/Post',
    'http://evil.example/1.1/classes/Post',
    '//evil.example/1.1/classes/Post',
  ])('do not contain %s', (url) => {
    expect(isSent(url)).toBe(false);
  });

  it.each([
    '/1.1/classes/_User',
    '/1.1/classes/_User/5a',
    '/1.1/classes/%5FUser/5a/x',
    '/1.1/classes/_Role/x/y',
    '/1.1/classes/_Installation/x/y',
    '/1.1/classes/_Notification',
    '/1.1/scan/classes/_User',
  ])('contain no class of this server: %s', (url) => {
    expect(isSent(url, ['/1.1/*'])).toBe(false);
  });

  it.each([
    '/1.1/classes/../users',
    '/1.1/classes/%2e%2e/users',
    '/1.1/classes/.%2E/users',
    '/1.1/classes/..;/users',
    '/1.1/classes/Post;x',
    '/1.1/classes/a%2f..%2f..',
    '/1.1/classes/a%5c..',
    '/1.1/classes/a\\..',
    '/1.1/classes/a%0d%0ab',
    '/1.1/classes/a%00',
    '/1.1/classes/a%23',
    '/1.1/classes/%',
    '/1.1/classes/%ff',
  ])('contain nothing that two servers read in two ways: %s', (url) => {
    expect(isSent(url, ['/1.1/*'])).toBe(false);
  });

  it('have the asterisk for one part, and at the end for one or more', () => {
    expect(isSent('/1.1/users/a/followers', ['/1.1/users/*/followers'])).toBe(true);
    expect(isSent('/1.1/users/a/b/followers', ['/1.1/users/*/followers'])).toBe(false);
    expect(isSent('/1.1/users/followers', ['/1.1/users/*/followers'])).toBe(false);
    expect(isSent('/1.1/a/b/c/d', ['/1.1/a/*'])).toBe(true);
    expect(isSent('/1.1/a', ['/1.1/a/*'])).toBe(false);
    expect(isSent('/1.1/a', [])).toBe(false);
  });

  it.each(['OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND'])('have no method %s', (method) => {
    expect(isSent('/1.1/classes/Post', forwardPaths, method)).toBe(false);
  });

  it.each(['', 'classes/*', '/1.1/a*', '/1.1/*x/b', '/1.1//b', '/1.1/../b', '/1/a', '/1.1/a?b', '/1.1/a b'])(
    'cannot be %j',
    (path) => {
      expect(applicationSettings.safeParse({ forwardPaths: [path] }).success).toBe(false);
    },
  );
});

describe('the setting forwardUrl', () => {
  it.each(['', 'https://app.example.com', 'http://10.0.0.1:3000/base/'])('can be %j', (forwardUrl) => {
    expect(applicationSettings.safeParse({ forwardUrl }).success).toBe(true);
  });

  it.each([
    'app.example.com',
    'ftp://a.b',
    'https://user:password@a.b',
    'https://a.b?c=d',
    'https://a.b/#c',
    'https://a.b?',
  ])('cannot be %j', (forwardUrl) => {
    expect(applicationSettings.safeParse({ forwardUrl }).success).toBe(false);
  });
});

describe('the headers for the target', () => {
  const addition = {
    requestId: 'request-1',
    clientAddress: '203.0.113.1',
    identity: undefined as string | undefined,
    isReadHere: false,
  };
  const sent = (headers: Record<string, string>, more: Partial<typeof addition> = {}) => {
    const raw = headersForTarget(headers, { ...addition, ...more });
    return Object.fromEntries(raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1]]] : [])));
  };
  const own = {
    via: '1.1 gatepost',
    'x-forwarded-for': '203.0.113.1',
    'x-request-id': 'request-1',
    'x-gatepost-forwarded': '1',
  };

  it('are those of the client', () => {
    const kept = {
      'x-lc-id': 'a',
      'x-lc-key': 'b',
      'x-lc-session': 'c',
      authorization: 'd',
      'accept-encoding': 'gzip',
    };
    expect(sent(kept)).toEqual({ ...kept, ...own });
    expect(sent({ 'content-length': '5' })).toEqual({ ...own, 'content-length': '5' });
    expect(sent({ via: '1.0 proxy' })['via']).toBe('1.0 proxy, 1.1 gatepost');
  });

  it.each([
    'connection',
    'cookie',
    'expect',
    'forwarded',
    'host',
    'keep-alive',
    'proxy-authorization',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'x-forwarded-host',
    'x-gatepost-identity',
    'x-gatepost-else',
    'x_gatepost_identity',
    'x-gatepost_identity',
    'x-real-ip',
  ])('leave out %s', (name) => {
    expect(sent({ [name]: 'forged' })).toEqual(own);
  });

  it('leave out those that Connection names, but for their own', () => {
    const headers = { connection: 'X-A, X-Gatepost-Identity, close', 'x-a': '1', 'x-b': '2' };
    expect(sent(headers, { identity: 'token' })).toEqual({ ...own, 'x-b': '2', 'x-gatepost-identity': 'token' });
  });

  it('ask for an answer that can be read here', () => {
    expect(sent({ 'accept-encoding': 'gzip' }, { isReadHere: true })).toEqual(own);
  });
});

describe('a request that has been forwarded', () => {
  it.each([
    [{ 'x-gatepost-forwarded': '1' }],
    [{ via: '1.1 gatepost' }],
    [{ via: '1.1 nginx, HTTP/1.1 Gatepost (x)' }],
  ])('is known by %j', (headers) => {
    expect(hasBeenForwarded(headers)).toBe(true);
  });

  it.each([[{}], [{ via: '1.1 nginx' }], [{ via: '1.1 gatepost-edge' }]])('is not known by %j', (headers) => {
    expect(hasBeenForwarded(headers)).toBe(false);
  });
});

describe('the headers for the client', () => {
  const page = { 'content-security-policy': "default-src 'none'; sandbox", 'x-content-type-options': 'nosniff' };

  it('are those of the target', () => {
    expect(headersForClient(['Content-Type', 'text/html', 'ETag', '"a"', 'Vary', 'A', 'vary', 'B'])).toEqual({
      'content-type': 'text/html',
      etag: '"a"',
      vary: 'A, B',
      ...page,
    });
  });

  it.each([
    'Access-Control-Allow-Origin',
    'Alt-Svc',
    'Clear-Site-Data',
    'Connection',
    'Content-Security-Policy',
    'Keep-Alive',
    'RateLimit-Limit',
    'Set-Cookie',
    'Strict-Transport-Security',
    'Transfer-Encoding',
    'Upgrade',
    'X-Gatepost-Identity',
    'X-Request-Id',
  ])('leave out %s', (name) => {
    expect(headersForClient([name, 'x'])).toEqual(page);
  });

  it('leave out those that Connection names, and values that would end the header', () => {
    expect(headersForClient(['Connection', 'X-A', 'X-A', '1', 'X-B', 'a\r\nb', 'X-C', 'a\u0100'])).toEqual(page);
  });
});
