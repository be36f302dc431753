import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { accountsRpc, type Application, applicationSettings, broadcastContracts, objectsRpc } from '#contracts';
import { appError } from '#errors';
import { Broadcasts } from '#messaging';
import { eventually, type FakeTransport } from '#testing';
import { ForwardingTarget, MIB, PIECE } from './forwarding-target.js';
import { APPLICATION, fakeServices, GATEWAY_CONFIG, startGateway } from './start-gateway.js';

const SECRET = 'a secret of thirty-two characters or more'.replaceAll(' ', '-');
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey };
const POST = '/1.1/classes/Post';
const JOINT_SAVE = [
  '/1.1/batch/save',
  { method: 'POST', body: JSON.stringify({ requests: [{ method: 'POST', path: POST, body: { title: 'a' } }] }) },
] as const;

interface Sent {
  readonly method?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

describe('requests that Gatepost does not serve', () => {
  let services: FakeTransport;
  let gateway: RunningService;
  let target: ForwardingTarget;
  let application: Application;

  /** Resolves once the gateway has received the broadcast. */
  const set = async (settings: object, more: Partial<Application> = {}) => {
    application = { ...APPLICATION, settings: applicationSettings.parse(settings), ...more };
    gateway.app.get(Broadcasts).send(broadcastContracts.applicationChanged, { appId: APPLICATION.id });
    await setImmediate();
  };
  const send = (path: string, init: Sent = {}) =>
    fetch(`http://127.0.0.1:${gateway.port}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { ...SIGNED, ...init.headers },
    });
  const answerOf = async (path: string, init?: Sent) => {
    const response = await send(path, init);
    return [response.status, await response.json()] as const;
  };
  const batch = async (...paths: string[]) => {
    const requests = paths.map((path) => ({ method: 'GET', path }));
    const [status, body] = await answerOf('/1.1/batch', { method: 'POST', body: JSON.stringify({ requests }) });
    expect(status).toBe(200);
    return body as Record<string, unknown>[];
  };
  const open = (path: string, headers: Record<string, string> = {}, method = 'POST'): ClientRequest =>
    httpRequest({ port: gateway.port, host: '127.0.0.1', path, method, headers: { ...SIGNED, ...headers } }).on(
      'error',
      () => undefined,
    );

  beforeAll(async () => {
    services = fakeServices();
    services.answer(accountsRpc.findApplication, ({ appId }) => ({
      application: appId === APPLICATION.id ? application : null,
    }));
    application = APPLICATION;
    target = await ForwardingTarget.start();
    gateway = await startGateway(services, [], {
      forwarding: {
        internalNetworks: ['127.0.0.1'],
        maxBodyBytes: 60 * MIB,
        // An upload of 50 MiB and its pause must fit, also on a busy machine.
        answerTimeoutMs: 3_000,
        idleTimeoutMs: 1_500,
        totalTimeoutMs: 20_000,
      },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await target.stop();
  });
  beforeEach(async () => {
    target.received.length = 0;
    target.written = 0;
    await set({ forwardUrl: target.url });
  });

  it('get 404 as long as the setting is empty, and where its paths do not contain them', async () => {
    await set({});
    const missing = [404, { code: 101, error: "Class or object doesn't exists." }];
    expect(await answerOf(POST)).toEqual(missing);
    await set({ forwardUrl: target.url, forwardPaths: ['/1.1/functions/*'] });
    expect(await answerOf(POST)).toEqual(missing);
    await set({ forwardUrl: target.url });
    for (const path of ['/1.1/classes/_User/a/b', '/1.1/nothing', '/1.1/classes/%2e%2e/x', '/nothing'])
      expect((await send(path)).status).toBe(404);
    expect(target.received).toEqual([]);
  });

  it('reach the server of the application as they are', async () => {
    const path = `${POST}/5a?where=%7B%22a%22:%22b%22%7D&x=%2F..%2F`;
    const body = '{ "not":  "touched" }';
    const headers = { 'x-lc-session': 'token', 'x-lc-prod': '0', 'content-type': 'application/json', cookie: 'a=1' };
    const response = await send(path, { method: 'PUT', body, headers });
    expect([response.status, await response.json()]).toEqual([200, { method: 'PUT', url: path, bytes: body.length }]);
    expect(target.last).toMatchObject({ body, headers: { ...SIGNED, 'x-lc-session': 'token', 'x-lc-prod': '0' } });
    expect(target.last.headers).toMatchObject({
      host: new URL(target.url).host,
      'x-forwarded-for': '127.0.0.1',
      'x-request-id': response.headers.get('x-request-id'),
      'x-gatepost-forwarded': '1',
      via: '1.1 gatepost',
    });
    expect(target.last.headers).not.toHaveProperty('cookie');
    expect(target.last.headers).not.toHaveProperty('x-gatepost-identity');
    expect(response.headers.get('x-target')).toBe('yes');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('go below the path of forwardUrl, and in every method', async () => {
    await set({ forwardUrl: `${target.url}/base/` });
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
      expect(await answerOf(POST, { method })).toEqual([200, { method, url: `/base${POST}`, bytes: 0 }]);
    }
    const head = await send(POST, { method: 'HEAD' });
    expect([head.status, await head.text(), target.last.method]).toEqual([200, '', 'HEAD']);
    expect((await send(`${POST}/nothing`)).status).toBe(204);
  });

  it.each([
    ['POST', '/1.1/users/friendshipRequests'],
    ['PUT', '/1.1/users/friendshipRequests/5a/accept'],
    ['GET', '/1.1/users/self/friends'],
  ])('can be those of friends, which begin as paths of users: %s %s', async (method, path) => {
    expect(await answerOf(path, { method })).toEqual([200, { method, url: path, bytes: 0 }]);
  });

  it('can be scans, but not of the classes of Gatepost', async () => {
    const path = '/1.1/scan/classes/Post?limit=1';
    expect(await answerOf(path)).toEqual([200, { method: 'GET', url: path, bytes: 0 }]);
    for (const name of ['_User', '_Role', '_Installation', '%5FUser'])
      expect(await answerOf(`/1.1/scan/classes/${name}`)).toMatchObject([403, { code: 403 }]);
    expect(await answerOf('/1.1/scan/classes/_Notification')).toMatchObject([404, { code: 101 }]);
    await set({});
    expect(await answerOf(path)).toMatchObject([404, { code: 101 }]);
    expect(target.received.length).toBe(1);
  });

  it('are refused before anything is forwarded: wrong key, preflight', async () => {
    expect((await send(POST, { headers: { 'x-lc-key': 'wrong' } })).status).toBe(401);
    expect((await send(POST, { method: 'OPTIONS', headers: { origin: 'https://a.b' } })).status).toBe(204);
    expect(target.received).toEqual([]);
  });

  it('get no cookie, CORS header or policy for this host from the server', async () => {
    const { headers } = await send(`${POST}/cookies`);
    for (const name of ['set-cookie', 'strict-transport-security', 'pragma']) expect(headers.get(name)).toBeNull();
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect([headers.get('x-own'), headers.get('cache-control')]).toEqual(['kept', 'max-age=60']);
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  });

  it.each([
    ['hang', 504, 124],
    ['close', 503, 503],
    ['huge', 502, 1],
    ['garbage', 502, 1],
    ['smuggle', 502, 1],
  ])('to a server that does %s end with %i', async (behaviour, status, code) => {
    const response = await send(`${POST}/${behaviour}`);
    expect([response.status, (await response.json()) as object]).toMatchObject([status, { code }]);
    expect(response.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('end with 502 where HTTP has no such status, and occupy no connection', async () => {
    expect(await answerOf(`${POST}/beyond`)).toMatchObject([502, { code: 1 }]);
    expect(await batch(`${POST}/beyond`)).toMatchObject([{ error: { code: 1 } }]);
    await eventually(() => {
      expect(target.received.map(({ isAborted }) => isAborted)).toEqual([true, true]);
    });
  });

  it('to a server that is away get 503 with Retry-After, and to an internal one as well', async () => {
    const away = await ForwardingTarget.start();
    const { url } = away;
    await away.stop();
    for (const forwardUrl of [url, 'http://10.255.255.1', 'http://169.254.169.254', 'http://[::1]:1']) {
      await set({ forwardUrl });
      const response = await send(POST, { method: 'POST', body: Buffer.alloc(MIB) });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      expect((await answerOf(...JOINT_SAVE))[0]).toBe(503);
    }
    await set({ forwardUrl: target.url });
    expect((await send(POST)).status).toBe(200);
  });

  it('get slow answers piece by piece, redirects as they are, and no 1xx', async () => {
    expect(await (await send(`${POST}/slow`)).text()).toBe('abc');
    const redirect = await send(`${POST}/redirect`);
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'http://169.254.169.254/']);
    expect(await answerOf(`${POST}/early`)).toEqual([200, {}]);
    expect(target.received.length).toBe(3);
  });

  it('see a broken connection where an answer stops in its middle, and never a complete one', async () => {
    for (const behaviour of ['stall', 'cut']) {
      const response = await send(`${POST}/${behaviour}`);
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
    }
  });

  it.each(['Hello, World!', '{ "_method":  "PUT" }'])('carry a file of text as it is: %s', async (body) => {
    const path = '/1.1/files/hello.txt?a=1';
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    const uploaded = await answerOf(path, { method: 'POST', body, headers });
    expect(uploaded).toEqual([200, { method: 'POST', url: path, bytes: body.length }]);
    expect(target.last).toMatchObject({ body, headers });
    expect((await send(path, { method: 'POST', body, headers: { ...headers, 'x-lc-key': 'wrong' } })).status).toBe(401);
  });

  it('carry 50 MiB up, and no more of it than the server reads', async () => {
    const upload = open('/1.1/files/wait', { 'content-length': String(50 * MIB) });
    const response = once(upload, 'response') as Promise<[NodeJS.ReadableStream]>;
    let sent = 0;
    const hash = createHash('sha256');
    const sending = (async () => {
      for (; sent < 50; sent += 1) {
        hash.update(PIECE);
        if (!upload.write(PIECE)) await once(upload, 'drain');
      }
      upload.end();
    })();
    await eventually(() => {
      expect(target.received.length).toBe(1);
    });
    await setTimeout(300);
    // The buffers of both connections hold the rest.
    expect(sent).toBeLessThan(25);
    target.release();
    await sending;
    const [answer] = await response;
    expect(JSON.parse(await text(answer))).toMatchObject({ bytes: 50 * MIB });
    expect(target.last.body).toBe(hash.digest('hex'));
  });

  it('get 50 MiB down, and no more of it than the client reads', async () => {
    const download = open('/1.1/files/large', {}, 'GET').end();
    const [answer] = (await once(download, 'response')) as [AsyncIterable<Buffer>];
    await setTimeout(200);
    expect(target.written).toBeLessThan(25 * MIB);
    let bytes = 0;
    for await (const chunk of answer) bytes += chunk.length;
    expect(bytes).toBe(50 * MIB);
  });

  it('end at the server when the client goes away: before the answer, in it, in an upload and in a batch', async () => {
    const isEnded = (path: string) =>
      eventually(() => {
        expect(target.received.find(({ url }) => url.endsWith(path))?.isAborted).toBe(true);
      });
    const arrived = (path: string) =>
      eventually(() => {
        expect(target.received.some(({ url }) => url.endsWith(path))).toBe(true);
      });
    const waiting = open(`${POST}/hang`, {}, 'GET').end();
    await arrived('/hang');
    waiting.destroy();
    await isEnded('/hang');
    const download = open('/1.1/files/large', {}, 'GET').end();
    await once(download, 'response');
    download.destroy();
    await isEnded('/large');
    const upload = open('/1.1/files/upload', { 'content-length': '1000' });
    upload.write('some');
    await arrived('/upload');
    upload.destroy();
    await isEnded('/upload');
    const many = open('/1.1/batch', {});
    many.end(JSON.stringify({ requests: [{ method: 'GET', path: '/1.1/functions/hang' }] }));
    await arrived('/functions/hang');
    many.destroy();
    await isEnded('/functions/hang');
  });

  it('get 413 for too large a body, with a length and without', async () => {
    expect(
      (await send(POST, { method: 'POST', body: Buffer.alloc(61 * MIB) }).catch(() => ({ status: 413 }))).status,
    ).toBe(413);
    expect(target.received).toEqual([]);
    const endless = open('/1.1/files/endless');
    const answered = once(endless, 'response') as Promise<[{ statusCode: number }]>;
    // The answer can come before the last piece has left, and the connection ends with it.
    for (let count = 0; count < 61; count += 1)
      if (!endless.write(PIECE)) await Promise.race([answered, once(endless, 'drain')]);
    const [response] = await answered;
    expect(response.statusCode).toBe(413);
    endless.destroy();
    await eventually(() => {
      expect(target.last.isAborted).toBe(true);
    });
  });

  it('do not go round in circles', async () => {
    const loop = [508, { code: 508 }];
    expect(await answerOf(POST, { headers: { 'x-gatepost-forwarded': '1' } })).toMatchObject(loop);
    expect(await answerOf(POST, { headers: { via: '1.1 a, 1.1 gatepost' } })).toMatchObject(loop);
    await set({ forwardUrl: `${GATEWAY_CONFIG.baseUrl}/x` });
    expect(await answerOf(POST)).toMatchObject(loop);
    await set({ forwardUrl: `http://127.0.0.1:${gateway.port}` });
    expect(await answerOf(POST)).toMatchObject(loop);
    expect(await answerOf(...JOINT_SAVE)).toMatchObject(loop);
    expect(target.received).toEqual([]);
  });

  it('work within a batch, in order, beside those that Gatepost serves', async () => {
    const user = { objectId: 'a'.repeat(24), createdAt: 'x', updatedAt: 'x' };
    services.answer(accountsRpc.getUser, () => ({ user }));
    const [first, second, third] = await batch(`${POST}/1`, `/1.1/users/${user.objectId}`, `${POST}/error`);
    expect(first).toEqual({ success: { method: 'GET', url: `${POST}/1`, bytes: 0 } });
    expect(second).toEqual({ success: user });
    expect(third).toEqual({ error: { code: 101, error: 'none' } });
    expect(target.received.map(({ url }) => url)).toEqual([`${POST}/1`, `${POST}/error`]);
  });

  it('can be joint saves of other classes, as iOS and Java send them', async () => {
    const path = '/1.1/batch/save';
    const add = (url: string) => ({ method: 'POST', path: url, body: { __internalId: url, title: '文' } });
    const [post, user] = [add(POST), add('/1.1/users')];
    const save = (...requests: unknown[]) =>
      answerOf(path, { method: 'POST', body: JSON.stringify({ requests }, undefined, 2) });
    const bytes = Buffer.byteLength(JSON.stringify({ requests: [post, post] }));
    expect(await save(post, post)).toEqual([200, { method: 'POST', url: path, bytes }]);
    expect(JSON.parse(target.last.body)).toEqual({ requests: [post, post] });
    expect(await save(add(`${POST}/error`))).toMatchObject([200, { url: path }]);

    target.received.length = 0;
    services.answer(objectsRpc.saveAll, () => {
      throw appError('NOT_FOUND');
    });
    await set({ forwardUrl: target.url, forwardPaths: ['/1.1/*'] });
    expect((await answerOf(path, { method: 'POST' }))[0]).toBe(400);
    for (const others of [[user], ['/1.1/classes/%5FUser'], ['/1.1/classes/a/../_User'], ['/1.1/users/a'], [1]])
      expect((await save(post, ...others.map((one) => (typeof one === 'string' ? add(one) : one))))[0]).not.toBe(200);
    const nested = { requests: [{ method: 'POST', path, body: { requests: [post] } }] };
    const [, answers] = await answerOf('/1.1/batch', { method: 'POST', body: JSON.stringify(nested) });
    expect(answers).toMatchObject([{ error: { code: 1 } }]);
    await set({});
    expect(await save(post)).toMatchObject([404, { code: 101 }]);
    expect(target.received).toEqual([]);
  });

  it('cannot break the form of a batch', async () => {
    const names = ['html', 'broken', 'gzip', 'redirect', 'nothing', 'close', 'hang', 'cut', 'stall', 'large', '2'];
    const answers = await batch(...names.map((name) => `${POST}/${name}`));
    const codes = answers.map(({ error }) => (error as { code?: number } | undefined)?.code);
    expect(codes).toEqual([1, 1, 1, 1, undefined, 503, 124, 1, 1, 116, undefined]);
    expect(answers[0]).toEqual({
      error: { code: 1, error: 'The server that the request was forwarded to answered 500 without JSON.' },
    });
  });

  it.each([POST, '/1.1/files/a'])(
    'to %s are described by a form, for browsers that cannot send headers',
    async (url) => {
      const response = await fetch(`http://127.0.0.1:${gateway.port}${url}`, {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: JSON.stringify({
          _method: 'PUT',
          _ApplicationId: APPLICATION.id,
          _ApplicationKey: APPLICATION.appKey,
          a: 1,
        }),
      });
      expect([response.status, await response.json()]).toEqual([200, { method: 'PUT', url, bytes: 7 }]);
      expect(target.last).toMatchObject({ body: '{"a":1}', headers: SIGNED });
    },
  );

  it('cannot smuggle a second request', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    const signed = `X-LC-Id: ${APPLICATION.id}\r\nX-LC-Key: ${APPLICATION.appKey}\r\nHost: x\r\n`;
    socket.write(
      `POST ${POST} HTTP/1.1\r\n${signed}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET ${POST}/hidden HTTP/1.1\r\n${signed}\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
    expect(target.received).toEqual([]);
  });

  describe('of an application with a forwardSecret', () => {
    const identity = async (headers: Record<string, string> = {}, secret = SECRET) => {
      expect((await send(POST, { headers })).status).toBe(200);
      const token = String(target.last.headers['x-gatepost-identity']);
      const options = { audience: APPLICATION.id, issuer: 'gatepost', algorithms: ['HS256'] };
      return (await jwtVerify(token, new TextEncoder().encode(secret), options)).payload;
    };
    beforeEach(async () => {
      await set({ forwardUrl: target.url }, { forwardSecret: SECRET });
      services.answer(accountsRpc.resolvePrincipal, ({ caller }) => ({
        principal: caller.sessionToken === 'known' ? { userId: 'u1', roles: ['b', 'a'] } : { roles: [] },
      }));
    });

    it('name the user and the roles of the session, for a minute', async () => {
      const payload = await identity({ 'x-lc-session': 'known', 'x-gatepost-identity': 'forged' });
      expect(payload).toMatchObject({
        aud: APPLICATION.id,
        iss: 'gatepost',
        sub: 'u1',
        roles: ['a', 'b'],
        master: false,
      });
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60);
      expect(target.last.rawHeaders.filter((name) => /^x.gatepost.identity$/i.test(name)).length).toBe(1);
    });

    it('name no user without a session and with an invalid one', async () => {
      for (const headers of [{}, { 'x-lc-session': 'unknown' }]) {
        const payload = await identity(headers);
        expect([payload.sub, payload['roles']]).toEqual([undefined, []]);
      }
    });

    it('say whether the master key was used', async () => {
      const key = { 'x-lc-key': `${APPLICATION.masterKey},master` };
      expect(await identity({ ...key, 'x-lc-session': 'known' })).toMatchObject({ master: true, sub: 'u1' });
    });

    it('cannot be verified with another secret', async () => {
      await expect(identity({}, `${SECRET}.`)).rejects.toThrow(/signature/);
    });

    it('name no more roles than fit into a header', async () => {
      const roles = Array.from({ length: 500 }, (_, index) => `role-of-some-length-${index}`);
      services.answer(accountsRpc.resolvePrincipal, () => ({ principal: { userId: 'u1', roles } }));
      const payload = await identity({ 'x-lc-session': 'known' });
      expect(payload).toMatchObject({ rolesCut: true });
      expect(String(target.last.headers['x-gatepost-identity']).length).toBeLessThan(8_192);
    });

    it('are not forwarded without an answer about the session', async () => {
      services.fail(accountsRpc.resolvePrincipal, appError('SERVICE_UNAVAILABLE'));
      expect((await send(POST, { headers: { 'x-lc-session': 'known' } })).status).toBe(503);
      expect(target.received).toEqual([]);
    });
  });

  it('are counted as forwarded', async () => {
    await send(POST);
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.port}/metrics`)).text();
    expect(metrics).toMatch(/gatepost_http_request_duration_seconds_count\{[^}]*route="forwarded"[^}]*\}/);
  });

  it.each([
    ['POST', '/1.1/stats/collect'],
    ['POST', '/1.1/always_collect'],
    ['GET', '/1.1/statistics/apps/x/sendPolicy'],
  ])('are not the statistics of SDKs: %s %s', async (method, path) => {
    await set({ forwardUrl: target.url, forwardPaths: ['/1.1/*'] });
    expect(await answerOf(path, { method, ...(method === 'POST' ? { body: '{"a":1}' } : {}) })).toEqual([200, {}]);
    expect((await send(path, { method, headers: { 'x-lc-key': 'wrong' } })).status).toBe(401);
    expect(target.received).toEqual([]);
  });
});
