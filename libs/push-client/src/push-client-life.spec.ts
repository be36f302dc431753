import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ACKS_LEAVE_MS, data, FakeSocket, passes, says, settled, URL } from '../test/fake-socket.js';
import { memoryStore } from './device.js';
import { PushClient } from './push-client.js';
import type { PushClientOptions } from './push-client.types.js';

describe('the push client, with what an application does to it,', () => {
  let client: PushClient;
  let handled: string[];
  let states: string[];
  let errors: Error[];

  const make = (options: Partial<PushClientOptions> = {}): PushClient =>
    (client = new PushClient({
      appId: 'app',
      url: URL,
      installationId: 'device',
      onMessage: ({ id }) => void handled.push(id),
      onState: ({ state }) => states.push(state),
      onError: (error) => errors.push(error),
      WebSocket: FakeSocket,
      ...options,
    }));
  const connected = async (options: Partial<PushClientOptions> = {}): Promise<void> => {
    make(options).start();
    await settled();
    await FakeSocket.last.opens();
  };
  const broken = () => {
    throw new Error('broken');
  };

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2027, 0, 1) });
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    [handled, states, errors] = [[], [], []];
    FakeSocket.all = [];
  });
  afterEach(async () => {
    await client.stop();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  describe('a stop', () => {
    it('waits for the messages received before it, and leaves later ones at the server', async () => {
      await connected({
        onMessage: async ({ id }) => {
          await new Promise((resolve) => setTimeout(resolve, 100));
          handled.push(id);
        },
      });
      await says(data('a'));
      const stopped = client.stop().then(() => handled.push('stopped'));
      await says(data('b'));
      await says({ cmd: 'gap', id: 'gap-1', dropped: 7 });
      await passes(1_000);
      await stopped;
      expect(handled).toEqual(['a', 'stopped']);
      expect([FakeSocket.last.acknowledged, FakeSocket.last.closed]).toEqual([['a'], 1000]);
    });

    it('in the handler of a message, which waits for it, ends the connection after that handler', async () => {
      await connected({
        onMessage: async ({ id }) => {
          if (id === 'log out') await client.stop();
          handled.push(id);
        },
      });
      await says(data('log out'));
      await passes(ACKS_LEAVE_MS);
      expect([handled, client.state]).toEqual([['log out'], 'stopped']);
      expect([FakeSocket.last.acknowledged, FakeSocket.last.closed]).toEqual([['log out'], 1000]);
    });
  });

  describe('the registration', () => {
    const HOUR = 3_600_000;
    let status: number;
    let saves: number;
    const registering = (): Partial<PushClientOptions> => ({
      server: 'https://api.test',
      registration: { appKey: 'key' },
      fetch: () => {
        saves += 1;
        const json = () => Promise.resolve({ objectId: 'i1' });
        return Promise.resolve({ ok: status < 300, status, headers: { get: () => null }, json });
      },
    });

    beforeEach(() => {
      [status, saves] = [200, 0];
    });

    it('is repeated where something else than the server replies, such as the page of a hotspot', async () => {
      const json = () => Promise.reject(new Error('HTML'));
      const response = { ok: true, status: 200, headers: { get: () => null }, json };
      make({ ...registering(), fetch: () => Promise.resolve(response) }).start();
      await settled();
      expect([client.state, FakeSocket.all]).toEqual(['waiting', []]);
      expect(errors.map(({ message }) => message)).toEqual([
        'the registration of the installation got no objectId: check that `server` is the URL of the REST API',
      ]);
    });

    it('is renewed once a day on a connection that lasts, and an hour after a failure', async () => {
      await connected(registering());
      await says({ cmd: 'loggedin', heartbeatSeconds: 1_000_000 });
      await passes(23 * HOUR);
      expect(saves).toBe(1);
      status = 503;
      await passes(HOUR);
      expect([saves, client.state]).toEqual([2, 'connected']);
      expect(errors).toMatchObject([{ name: 'RefusedRequest', status: 503 }]);
      status = 200;
      await passes(HOUR);
      expect(saves).toBe(3);
      await client.stop();
      await passes(48 * HOUR);
      expect([saves, FakeSocket.all.length]).toEqual([3, 1]);
    });

    describe('changed', () => {
      let bodies: { channels?: unknown; lang?: unknown }[];
      let answer: (body: { channels?: unknown }) => Promise<number> | number;
      const changing = (fields: object): Partial<PushClientOptions> => ({
        server: 'https://api.test',
        registration: { appKey: 'key', fields: { ...fields } },
        fetch: async (_url, { body = '{}' }) => {
          const { deviceType: _type, installationId: _id, ...sent } = JSON.parse(body) as Record<string, unknown>;
          bodies.push(sent);
          const code = await answer(sent);
          const json = () => Promise.resolve(code < 300 ? { objectId: 'i1' } : { code });
          return { ok: code < 300, status: code, headers: { get: () => null }, json };
        },
      });
      const add = (name: string) => ({ channels: { __op: 'AddUnique', objects: [name] } });

      beforeEach(() => {
        [bodies, answer] = [[], () => 200];
      });

      it('saves one after the other, so that no slow request arrives after a later one', async () => {
        await connected(changing({}));
        answer = ({ channels }) => new Promise((resolve) => setTimeout(resolve, channels === 'slow' ? 900 : 10, 200));
        const slow = client.register({ channels: 'slow' });
        await passes(100);
        const saved = [slow, client.register({ channels: 'new' })];
        await passes(500);
        expect(bodies).toEqual([{}, { channels: 'slow' }]);
        await passes(500);
        await Promise.all(saved);
        expect(bodies.slice(2)).toEqual([{ channels: 'new' }]);
        answer = () => new Promise((resolve) => setTimeout(resolve, 9_000, 200));
        const late = client.register({ lang: 'de' });
        // Neither the next connection nor a stop waits for that save.
        FakeSocket.last.breaks();
        await passes(2_000);
        expect([bodies.at(-1), FakeSocket.all.length]).toEqual([{ channels: 'new', lang: 'de' }, 2]);
        await client.stop();
        expect(client.state).toBe('stopped');
        await passes(9_000);
        await late;
      });

      it('saves the installation as it began before the changes, of which one that is refused blocks none', async () => {
        make(changing({ channels: ['news'] })).start();
        answer = ({ channels }) => (channels === 'bad name' ? 403 : 200);
        await client.register({ channels: 'bad name' });
        await settled();
        expect([errors, FakeSocket.all.length]).toEqual([[expect.objectContaining({ status: 403 })], 1]);
        await client.register(add('sports'));
        expect(bodies).toEqual([{ channels: ['news'] }, { channels: 'bad name' }, add('sports')]);
      });

      it.each([400, 409, 413, 415, 422])(
        'forgets a change that is refused with %d, and saves the others',
        async (status) => {
          await connected(changing({ channels: ['news'] }));
          answer = ({ channels }) => (channels === 'bad name' ? status : 200);
          await expect(client.register({ channels: 'bad name' })).rejects.toMatchObject({ status });
          await client.register({ lang: 'de' });
          expect(bodies.at(-1)).toEqual({ channels: ['news'], lang: 'de' });
        },
      );

      it('sends each operation once, also after failures', async () => {
        await connected(changing({ channels: ['news'], lang: 'en' }));
        for (const [status, name] of [
          [503, 'a'],
          [401, 'b'],
        ] as const) {
          answer = () => status;
          await expect(client.register(add(name))).rejects.toMatchObject({ status });
        }
        [bodies, answer] = [[], () => 200];
        await client.register({ lang: 'de' });
        expect(bodies).toEqual([{ ...add('a'), lang: 'en' }, { ...add('b'), lang: 'en' }, { lang: 'de' }]);
      });
    });

    it('is renewed after the clock of the device was set back', async () => {
      await connected(registering());
      await says({ cmd: 'loggedin', heartbeatSeconds: 1_000_000 });
      vi.setSystemTime(Date.UTC(2026, 0, 1));
      await passes(HOUR);
      expect(saves).toBe(2);
      await passes(23 * HOUR);
      expect(saves).toBe(2);
      await passes(HOUR);
      expect(saves).toBe(3);
    });
  });

  describe('a server that fails after a connection', () => {
    let failing: string;
    const fetch: PushClientOptions['fetch'] = (url) => {
      const status = failing !== '' && url.includes(failing) ? 500 : 200;
      const json = () => Promise.resolve({ objectId: 'i1', server: 'wss://one.test/', ttl: 0 });
      return Promise.resolve({ ok: status < 300, status, headers: { get: () => null }, json });
    };

    it.each(['/v1/route', '/1.1/installations'])('does not prevent the next connection: %s', async (path) => {
      failing = '';
      await connected({ url: '', server: 'https://api.test', fetch, registration: { appKey: 'key' } });
      vi.setSystemTime(Date.now() + 25 * 3_600_000);
      failing = path;
      FakeSocket.last.breaks();
      await passes(2_000);
      expect(FakeSocket.all.map(({ url }) => url)).toEqual(['wss://one.test/', 'wss://one.test/']);
      expect(errors).toMatchObject([{ status: 500 }]);
    });
  });

  describe('a wake on a connection', () => {
    it('keeps one that the server replies on', async () => {
      await connected();
      client.wake();
      expect(FakeSocket.last.sent.at(-1)).toEqual({});
      await says({});
      await passes(6_000);
      expect(FakeSocket.last.closed).toBeUndefined();
    });

    it('replaces a dead one after five seconds, with one heartbeat', async () => {
      await connected();
      client.wake();
      await passes(4_000);
      client.wake();
      await passes(1_000);
      expect([FakeSocket.last.closed, FakeSocket.last.sent.length]).toEqual([4900, 2]);
    });

    it('changes nothing before the login', async () => {
      make().start();
      await settled();
      client.wake();
      await passes(6_000);
      expect([FakeSocket.last.closed, FakeSocket.last.sent]).toEqual([undefined, []]);
    });
  });

  describe('a replaced client that starts again', () => {
    const seen = () => FakeSocket.last.sent[0]?.['seen'];

    it('keeps what the newer session has stored', async () => {
      const store = memoryStore();
      await connected({ store });
      await says(data('a'));
      FakeSocket.last.breaks(4111);
      await settled();
      await store.save({ installationId: 'device', seen: ['a', 'b'] });
      client.start();
      await settled();
      await FakeSocket.last.opens();
      expect(seen()).toEqual(['a', 'b']);
      await says(data('b', 'c'));
      expect(handled).toEqual(['a', 'c']);
    });

    it('keeps its identity where it has no store', async () => {
      client = new PushClient({ appId: 'app', url: URL, onMessage: broken, WebSocket: FakeSocket });
      client.start();
      await settled();
      await FakeSocket.last.opens();
      const { installationId } = client;
      FakeSocket.last.breaks(4111);
      await settled();
      client.start();
      await settled();
      await FakeSocket.last.opens();
      expect(installationId).toHaveLength(32);
      expect(client.installationId).toBe(installationId);
    });
  });

  describe('requests', () => {
    const pending = (): Partial<PushClientOptions> => ({
      url: '',
      server: 'https://api.test',
      fetch: (_url, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    });

    it('end after 15 seconds, also in browsers without AbortSignal.any', async () => {
      vi.spyOn(AbortSignal, 'any').mockImplementation(broken);
      make(pending()).start();
      await passes(14_999);
      expect(errors).toEqual([]);
      await passes(1);
      expect(errors.map(({ message }) => message)).toEqual([
        'the request for a connector got no response within 15 seconds',
      ]);
    });

    it('end at a stop', async () => {
      vi.spyOn(AbortSignal, 'any').mockImplementation(broken);
      make(pending()).start();
      await settled();
      await client.stop();
      expect([client.state, errors, vi.getTimerCount()]).toEqual(['stopped', [], 0]);
    });
  });

  describe('a stop in a callback', () => {
    const inCallback = async (name: 'onError' | 'onState'): Promise<void> => {
      let stopped: Promise<void> | undefined;
      const stop = () => {
        if (client.state === 'waiting' || name === 'onError') stopped ??= client.stop();
      };
      const fetch = () => Promise.reject(new Error('no network'));
      make({ url: '', server: 'https://api.test', fetch, [name]: stop }).start();
      await settled();
      await stopped;
    };

    it.each(['onError', 'onState'] as const)('resolves without a pause: %s', async (name) => {
      await inCallback(name);
      expect(client.state).toBe('stopped');
    });
  });

  describe('a start during a stop', () => {
    it('connects again', async () => {
      await connected();
      const stopped = client.stop();
      client.start();
      await stopped;
      await settled();
      expect(FakeSocket.all.map(({ closed }) => closed)).toEqual([1000, undefined]);
      await FakeSocket.last.opens();
      expect(client.state).toBe('connected');
    });

    it('connects once, where both follow the first start at once', async () => {
      make().start();
      const stopped = client.stop();
      client.start();
      await stopped;
      await settled();
      await FakeSocket.last.opens();
      expect([FakeSocket.all.length, client.state]).toEqual([1, 'connected']);
    });
  });

  describe('callbacks that throw', () => {
    it('are reported, and the client continues', async () => {
      await connected({ onState: broken, onGap: broken });
      await says({ cmd: 'gap', id: 'gap-1', dropped: 7 });
      await passes(ACKS_LEAVE_MS);
      expect([client.state, FakeSocket.last.acknowledged]).toEqual(['connected', ['gap-1']]);
      expect(errors).toMatchObject(
        ['onState', 'onState', 'onGap'].map((name) => ({ message: `${name} failed`, cause: { message: 'broken' } })),
      );
    });

    it('for errors do not stop the messages', async () => {
      const rethrown = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation(() => undefined);
      await connected({ onError: broken, onMessage: broken });
      await says(data('a'));
      await says(data('b'));
      await passes(ACKS_LEAVE_MS);
      expect(FakeSocket.last.acknowledged).toEqual(['a', 'b']);
      expect(rethrown).toHaveBeenCalledTimes(2);
      expect(rethrown.mock.calls[0]?.[0]).toThrow('broken');
    });
  });
});
