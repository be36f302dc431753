import http2, { type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { Http2Client, Http2Error } from './http2-client.js';

describe('the HTTP/2 client', () => {
  let server: Http2Server;
  let sessions: ServerHttp2Session[];
  let streams: ServerHttp2Stream[];
  let answer: (stream: ServerHttp2Stream) => void;
  let client: Http2Client;

  const finish = (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200 });
    stream.end('done');
  };
  const request = (path = '/') => client.request({ path, headers: {}, body: '{}' });
  const clientOf = (port: number, timeoutMs = 5_000) =>
    new Http2Client(`http://127.0.0.1:${port}`, { connections: 2, timeoutMs });
  const failureOf = async (pending: Promise<unknown>) => {
    const error = await pending.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Http2Error);
    return error as Http2Error;
  };
  const open = () => streams.filter(({ closed }) => !closed).length;

  beforeEach(async () => {
    [sessions, streams] = [[], []];
    answer = finish;
    server = http2.createServer({ settings: { maxConcurrentStreams: 10 } });
    server.on('session', (session) => {
      sessions.push(session);
      session.on('error', () => undefined);
    });
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      streams.push(stream);
      answer(stream);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = clientOf((server.address() as AddressInfo).port);
  });
  afterEach(async () => {
    client.close();
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('sends many requests over two connections, and never more at once than the server permits', async () => {
    let most = 0;
    answer = (stream) => {
      most = Math.max(most, open());
      setTimeout(() => {
        stream.respond({ ':status': 200 });
        stream.end('done');
      }, 5);
    };
    const answers = await Promise.all(Array.from({ length: 200 }, () => request()));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 done']));
    expect(sessions).toHaveLength(2);
    expect(most).toBeLessThanOrEqual(20);
  });

  it('obeys a lower limit at once, and loses nothing', async () => {
    await request();
    answer = (stream) => {
      setTimeout(() => {
        stream.respond({ ':status': 200 });
        stream.end('done');
      }, 20);
    };
    const pending = Array.from({ length: 60 }, () => request());
    await eventually(() => {
      expect(open()).toBeGreaterThan(5);
    });
    for (const session of sessions) session.settings({ maxConcurrentStreams: 1 });
    const answers = await Promise.all(pending);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
  });

  it('goes on over a new connection after a GOAWAY', async () => {
    await request();
    for (const session of sessions) session.close();
    expect((await request()).status).toBe(200);
    expect(sessions.length).toBeGreaterThan(1);
  });

  it('repeats over a new connection the requests that a GOAWAY names as unprocessed', async () => {
    await request();
    answer = (stream) => {
      if (stream.session === sessions[0]) sessions[0]?.goaway(http2.constants.NGHTTP2_NO_ERROR, 1);
      else finish(stream);
    };
    const answers = await Promise.all(Array.from({ length: 8 }, () => request()));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  });

  it('repeats once a request that the server refuses unprocessed', async () => {
    answer = (stream) => {
      if (streams.length > 1) finish(stream);
      else stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    };
    expect((await request()).text).toBe('done');
    expect(streams).toHaveLength(2);
  });

  it('says whether a request without an answer was surely not processed', async () => {
    answer = (stream) => {
      stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    };
    expect((await failureOf(request())).isUnprocessed).toBe(true);
    expect(streams).toHaveLength(2);
    answer = (stream) => {
      stream.session?.destroy();
    };
    expect((await failureOf(request())).isUnprocessed).toBe(false);
    expect(streams).toHaveLength(3);
  });

  it('waits for a free stream no longer than a request may take', async () => {
    const full = http2.createServer({ settings: { maxConcurrentStreams: 0 } });
    full.on('session', (session) => sessions.push(session));
    await new Promise<void>((resolve) => full.listen(0, '127.0.0.1', resolve));
    client = clientOf((full.address() as AddressInfo).port, 300);
    const { isUnprocessed, message } = await failureOf(request());
    expect([isUnprocessed, message]).toEqual([true, 'no free stream in time']);
    full.close();
  });

  it('gives up in time a request that nothing can be sent for since the server has lowered its limit', async () => {
    server.on('session', (session) => {
      session.settings({ maxConcurrentStreams: 0 });
    });
    client = clientOf((server.address() as AddressInfo).port, 300);
    const failures = await Promise.all([failureOf(request()), failureOf(request())]);
    expect(failures.map(({ message }) => message)).toContain('no answer in time');
  });

  it('gives up a request in time, and keeps the connection', async () => {
    client.close();
    client = clientOf((server.address() as AddressInfo).port, 100);
    await request();
    const opened = sessions.length;
    answer = () => undefined;
    expect(await failureOf(request())).toMatchObject({ message: 'no answer in time', isUnprocessed: false });
    answer = (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('done');
    };
    expect((await request()).status).toBe(200);
    expect(sessions).toHaveLength(opened);
  });

  it('gives up an answer that is too large', async () => {
    answer = (stream) => {
      stream.respond({ ':status': 200 });
      stream.end(Buffer.alloc(1_000_000));
    };
    expect((await failureOf(request())).message).toBe('answer too large');
  });

  it('tries an absent server once a second, for all requests together', async () => {
    const { port } = server.address() as AddressInfo;
    client.close();
    await new Promise((resolve) => server.close(resolve));
    client = clientOf(port);
    const failures = await Promise.all(Array.from({ length: 50 }, () => failureOf(request())));
    expect(new Set(failures.map(({ message, isUnprocessed }) => `${message} ${isUnprocessed}`))).toEqual(
      new Set(['ECONNREFUSED true']),
    );
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  });
});
