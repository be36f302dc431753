import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ACKS_LEAVE_MS, data, FakeSocket, passes, says, settled, URL } from '../test/fake-socket.js';
import { memoryStore } from './device.js';
import { PushClient } from './push-client.js';
import type { DeviceStore, Fetch, Gap, PushClientOptions, PushMessage, StateChange } from './push-client.types.js';

describe('the push client', () => {
  let messages: PushMessage[];
  let states: StateChange[];
  let gaps: Gap[];
  let errors: Error[];
  let client: PushClient;

  const make = (options: Partial<PushClientOptions> = {}): PushClient =>
    (client = new PushClient({
      appId: 'app',
      url: URL,
      installationId: 'device',
      onMessage: (message) => void messages.push(message),
      onState: (change) => states.push(change),
      onGap: (gap) => gaps.push(gap),
      onError: (error) => errors.push(error),
      WebSocket: FakeSocket,
      ...options,
    }));
  const connected = async (options: Partial<PushClientOptions> = {}): Promise<void> => {
    make(options).start();
    await settled();
    await FakeSocket.last.opens();
  };
  const ids = () => messages.map(({ id }) => id);

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2027, 0, 1) });
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    [messages, states, gaps, errors] = [[], [], [], []];
    FakeSocket.all = [];
  });
  afterEach(async () => {
    await client.stop();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  describe('a connection', () => {
    it('logs the device in with the sub-protocol and the seen ids', async () => {
      const store = memoryStore();
      await store.save({ installationId: 'device', seen: ['old'] });
      await connected({ store });
      expect([FakeSocket.last.url, FakeSocket.last.protocols]).toEqual([URL, ['gatepost.push.v1']]);
      expect(FakeSocket.last.sent).toEqual([{ cmd: 'login', appId: 'app', installationId: 'device', seen: ['old'] }]);
      expect([client.state, client.installationId]).toEqual(['connected', 'device']);
      expect(states).toEqual([{ state: 'connecting' }, { state: 'connected' }]);
    });

    it('connects once, even where it is started several times', async () => {
      await connected();
      client.start();
      await settled();
      expect(FakeSocket.all).toHaveLength(1);
    });

    it('sends heartbeats, and replaces a dead connection', async () => {
      await connected();
      await passes(60_000);
      expect(FakeSocket.last.sent.at(-1)).toEqual({});
      await says({});
      await passes(60_000);
      expect(FakeSocket.last.closed).toBeUndefined();
      await passes(60_000);
      expect([FakeSocket.last.closed, client.state]).toEqual([4900, 'waiting']);
    });

    it('times out where the socket does not open, or the server does not reply to the login', async () => {
      make().start();
      await passes(20_000);
      expect(FakeSocket.last.closed).toBe(4900);
      await passes(2_000);
      const [, second] = FakeSocket.all;
      second!.readyState = 1;
      await passes(60_000);
      expect(second?.closed).toBe(4900);
    });

    it('reconnects after a growing pause', async () => {
      make().start();
      for (const pauseMs of [1_000, 2_000, 4_000]) {
        await settled();
        FakeSocket.last.breaks();
        await settled();
        expect(states.at(-1)).toEqual({ state: 'waiting', retryInMs: pauseMs });
        await passes(pauseMs);
      }
      expect(FakeSocket.all).toHaveLength(4);
    });

    it('reconnects soon after a stable connection, and at once on wake', async () => {
      await connected();
      await passes(31_000);
      FakeSocket.last.breaks();
      await settled();
      expect(states.at(-1)).toEqual({ state: 'waiting', retryInMs: 500 });
      client.wake();
      await settled();
      expect(FakeSocket.all).toHaveLength(2);
    });

    it('reconnects after the pause that the server requests', async () => {
      await connected();
      await passes(31_000);
      await says({ cmd: 'goaway', retryAfterMs: 12_345, reason: 'restart' });
      expect(FakeSocket.last.closed).toBe(1000);
      expect(states.at(-1)).toEqual({ state: 'waiting', retryInMs: 12_345 });
      await passes(12_345);
      expect(FakeSocket.all).toHaveLength(2);
    });

    it('does not reconnect where the device is connected elsewhere, until it is started again', async () => {
      await connected();
      FakeSocket.last.breaks(4111, 'a newer session');
      await passes(600_000);
      expect([FakeSocket.all.length, client.state]).toEqual([1, 'replaced']);
      client.start();
      await settled();
      expect(FakeSocket.all).toHaveLength(2);
    });

    it('retries late where the server rejects the device', async () => {
      await connected();
      FakeSocket.last.breaks(4100, 'unknown application');
      await settled();
      expect(states.at(-1)).toEqual({ state: 'waiting', retryInMs: 90_000 });
      expect(errors.map(({ message }) => message)).toEqual([
        'the server rejects this device: 4100 unknown application',
      ]);
    });

    it('acknowledges everything when it is stopped, and can be started again', async () => {
      await connected();
      await says(data('a'));
      await client.stop();
      expect([FakeSocket.last.closed, FakeSocket.last.acknowledged, client.state]).toEqual([1000, ['a'], 'stopped']);
      await passes(600_000);
      expect(FakeSocket.all).toHaveLength(1);
      client.start();
      await settled();
      expect(FakeSocket.all).toHaveLength(2);
    });
  });

  describe('messages', () => {
    it('arrive in order, and are acknowledged together', async () => {
      await connected();
      await says(data('a', 'b'));
      await says(data('c'));
      expect(messages[0]).toEqual({ id: 'a', data: { alert: 'a' }, expiresAt: undefined });
      expect(ids()).toEqual(['a', 'b', 'c']);
      expect(FakeSocket.last.acknowledged).toEqual([]);
      await passes(ACKS_LEAVE_MS);
      expect(FakeSocket.last.sent.slice(1)).toEqual([{ cmd: 'ack', ids: ['a', 'b', 'c'] }]);
    });

    it('are acknowledged at once where many arrive', async () => {
      await connected();
      await says(data(...Array.from({ length: 20 }, (_, number) => `m${number}`)));
      expect(FakeSocket.last.acknowledged).toHaveLength(16);
      await passes(ACKS_LEAVE_MS);
      expect(FakeSocket.last.acknowledged).toHaveLength(20);
    });

    it('are passed on once, and acknowledged each time', async () => {
      await connected();
      await says(data('a'));
      await says(data('a'));
      FakeSocket.last.breaks();
      await passes(2_000);
      await FakeSocket.last.opens();
      await says(data('a', 'b'));
      await passes(ACKS_LEAVE_MS);
      expect(ids()).toEqual(['a', 'b']);
      expect(FakeSocket.last.acknowledged).toEqual(['a', 'b']);
    });

    it('are passed on once, even over a restart of the process', async () => {
      const store = memoryStore();
      await connected({ store });
      await says(data('a'));
      await client.stop();
      await connected({ store });
      await says(data('a', 'b'));
      expect(ids()).toEqual(['a', 'b']);
    });

    it('are passed on once, even while the first copy is being handled', async () => {
      let finish: () => void = () => undefined;
      const handled = new Promise<void>((resolve) => (finish = resolve));
      await connected({
        onMessage: (message) => {
          messages.push(message);
          return handled;
        },
      });
      await says(data('a'));
      FakeSocket.last.breaks();
      await passes(2_000);
      await FakeSocket.last.opens();
      await says(data('a'));
      finish();
      await passes(ACKS_LEAVE_MS);
      expect(ids()).toEqual(['a']);
      expect(FakeSocket.last.acknowledged).toEqual(['a']);
    });

    it('are stored before they are acknowledged', async () => {
      let finish: () => void = () => undefined;
      const written = new Promise<void>((resolve) => (finish = resolve));
      const seen: (readonly string[])[] = [];
      const store: DeviceStore = {
        load: () => ({ installationId: 'device', seen: [] }),
        save: (state) => {
          seen.push(state.seen);
          return written;
        },
      };
      await connected({ store });
      await says(data('a'));
      await passes(ACKS_LEAVE_MS);
      expect([seen, FakeSocket.last.acknowledged]).toEqual([[['a']], []]);
      finish();
      await passes(ACKS_LEAVE_MS);
      expect(FakeSocket.last.acknowledged).toEqual(['a']);
    });

    it("are dropped once they have expired by the server's clock", async () => {
      await connected();
      const at = (ms: number) => new Date(Date.now() + ms).toISOString();
      const frame = (id: string, ms: number) => ({ cmd: 'data', ids: [id], msg: [{ _expiration_time: at(ms) }] });
      await says(frame('late', -1));
      await says(frame('intime', 60_000));
      await says({ cmd: 'loggedin', serverTime: Date.now() - 3_600_000 });
      await says(frame('late by our clock only', -1));
      await passes(ACKS_LEAVE_MS);
      expect(ids()).toEqual(['intime', 'late by our clock only']);
      expect(FakeSocket.last.acknowledged).toEqual(['late', 'intime', 'late by our clock only']);
    });

    it('are not dropped where the device corrects its clock after the login', async () => {
      await connected();
      const serverTime = Date.now();
      await says({ cmd: 'loggedin', serverTime });
      vi.setSystemTime(serverTime + 3_600_000);
      await says({ cmd: 'data', ids: ['valid'], msg: [{ _expiration_time: serverTime + 60_000 }] });
      await passes(120_000);
      await says({ cmd: 'data', ids: ['late'], msg: [{ _expiration_time: serverTime + 60_000 }] });
      expect(ids()).toEqual(['valid']);
    });

    it('whose handler fails are reported, and not repeated', async () => {
      await connected({
        onMessage: () => {
          throw new Error('broken');
        },
      });
      await says(data('a'));
      await passes(ACKS_LEAVE_MS);
      expect(errors).toMatchObject([{ message: 'message a could not be handled', cause: { message: 'broken' } }]);
      expect(FakeSocket.last.acknowledged).toEqual(['a']);
    });

    it('that pile up close the connection to a server that ignores the window', async () => {
      await connected({ onMessage: () => new Promise<void>((resolve) => setTimeout(resolve, 1)) });
      await says(data(...Array.from({ length: 900 }, (_, number) => `m${number}`)));
      expect(FakeSocket.last.closed).toBeUndefined();
      await says(data(...Array.from({ length: 200 }, (_, number) => `n${number}`)));
      expect(FakeSocket.last.closed).toBe(4901);
      await passes(1_000);
    });

    it('that were dropped are reported once, and acknowledged', async () => {
      await connected();
      await says({ cmd: 'gap', id: 'gap-1', dropped: 7 });
      await passes(ACKS_LEAVE_MS);
      expect([gaps, FakeSocket.last.acknowledged]).toEqual([[{ dropped: 7 }], ['gap-1']]);
    });

    it('may follow an error', async () => {
      await connected();
      await says({ cmd: 'error', code: 4116, reason: 'too fast' });
      expect(errors.map(({ message }) => message)).toEqual(['the server reports 4116: too fast']);
    });
  });

  describe('the server', () => {
    interface Answer {
      readonly status?: number;
      readonly body?: unknown;
      readonly retryAfter?: string;
    }
    const asked: { url: string; method: string; headers: unknown; body: unknown }[] = [];
    let answers: Record<string, Answer>;
    const fetch: Fetch = (url, { method = 'GET', headers, body }) => {
      asked.push({ url, method, headers, body: body === undefined ? undefined : JSON.parse(body) });
      const path = new globalThis.URL(url).pathname;
      const { status = 200, body: answer = {}, retryAfter = null } = answers[path] ?? {};
      return Promise.resolve({
        ok: status < 300,
        status,
        headers: { get: () => retryAfter },
        json: () => Promise.resolve(answer),
      });
    };
    const SERVER: Partial<PushClientOptions> = { url: '', server: 'https://api.test/', fetch };
    const paths = () => asked.map(({ url }) => new globalThis.URL(url).pathname);

    beforeEach(() => {
      asked.length = 0;
      answers = {
        '/v1/route': { body: { server: 'wss://one.test/', secondary: 'wss://two.test/', ttl: 3_600 } },
        '/1.1/installations': { status: 201, body: { objectId: 'i1', createdAt: '2027-01-01T00:00:00.000Z' } },
      };
    });

    it('returns the connectors, which are tried in turn before the next request', async () => {
      make(SERVER).start();
      for (let attempt = 0; attempt < 3; attempt += 1) {
        await settled();
        FakeSocket.last.breaks();
        await passes(600_000 / 100);
      }
      expect(FakeSocket.all.map(({ url }) => url).slice(0, 3)).toEqual([
        'wss://one.test/',
        'wss://two.test/',
        'wss://one.test/',
      ]);
      expect(asked[0]?.url).toBe('https://api.test/v1/route?appId=app&installationId=device&secure=1');
      expect(asked).toHaveLength(2);
    });

    it('is asked again after its response has expired', async () => {
      await connected(SERVER);
      await passes(31_000);
      FakeSocket.last.breaks();
      await passes(1_000);
      await FakeSocket.last.opens();
      expect(asked).toHaveLength(1);
      for (let minute = 0; minute < 61; minute += 1) {
        await passes(60_000);
        await says({});
      }
      FakeSocket.last.breaks();
      await passes(1_000);
      expect(asked).toHaveLength(2);
    });

    it('may request a pause', async () => {
      answers['/v1/route'] = { status: 503, retryAfter: '30', body: { code: 1 } };
      make(SERVER).start();
      await settled();
      expect(states.at(-1)).toEqual({ state: 'waiting', retryInMs: 31_000 });
      expect(errors).toMatchObject([{ name: 'RefusedRequest', status: 503, body: { code: 1 } }]);
    });

    it('may return no connector', async () => {
      answers['/v1/route'] = { body: {} };
      make(SERVER).start();
      await settled();
      expect(errors.map(({ message }) => message)).toEqual(['the server returned no connector']);
    });

    const REGISTRATION = { appKey: 'key', fields: { deviceType: 'web', channels: ['news'] } };

    it('registers the installation before it connects, and again after a day', async () => {
      await connected({ ...SERVER, registration: REGISTRATION });
      expect(paths()).toEqual(['/1.1/installations', '/v1/route']);
      expect(asked[0]).toEqual({
        url: 'https://api.test/1.1/installations',
        method: 'POST',
        headers: { 'x-lc-id': 'app', 'x-lc-key': 'key', 'content-type': 'application/json' },
        body: { deviceType: 'web', channels: ['news'], installationId: 'device' },
      });
      FakeSocket.last.breaks();
      await passes(2_000);
      expect(FakeSocket.all).toHaveLength(2);
      expect(paths().filter((path) => path === '/1.1/installations')).toHaveLength(1);
      vi.setSystemTime(Date.now() + 86_400_000);
      FakeSocket.last.breaks();
      await passes(4_000);
      expect(paths().filter((path) => path === '/1.1/installations')).toHaveLength(2);
    });

    it('saves changed fields', async () => {
      await connected({ ...SERVER, registration: REGISTRATION });
      await client.register({ channels: ['sports'] });
      expect(asked.at(-1)?.body).toEqual({ deviceType: 'web', channels: ['sports'], installationId: 'device' });
    });

    it('may reject the registration: the client does not connect, and retries late', async () => {
      answers['/1.1/installations'] = { status: 401, body: { code: 401, error: 'Unauthorized.' } };
      make({ ...SERVER, registration: REGISTRATION }).start();
      await settled();
      expect(states.at(-1)).toEqual({ state: 'waiting', retryInMs: 90_000 });
      expect(FakeSocket.all).toEqual([]);
    });
  });

  it.each([
    ['appId is empty', { appId: '' }],
    ['server is missing: the client needs it to find a connector and to register the installation', { url: '' }],
    [
      'server is missing: the client needs it to find a connector and to register the installation',
      { registration: { appKey: 'key' } },
    ],
  ])('reports the missing option: %s', async (text, options) => {
    make();
    expect(() => make(options)).toThrow(new TypeError(text));
    await settled();
  });
});
