import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { eventually, unique } from '#testing';
import { decodeCommand } from '../src/connector/framings/framings.js';
import type { DeviceAddress } from '../src/device-queues/device-queues.js';
import { Connectors } from './connectors.js';

const require = createRequire(import.meta.url);

interface LeanCloudPush {
  server: { server: string; expires: Date };
  request: (options: unknown, done: (error: null, response: unknown, body: unknown) => void) => void;
  open(done: (error?: Error) => void): void;
  close(): void;
  on(event: 'message' | 'error', listener: (message: unknown) => void): void;
}

interface Command {
  readonly cmd: number;
  readonly installationId?: string;
  readonly dataMessage?: { readonly ids: string[]; readonly msg: readonly { readonly data: string }[] };
}

interface RealtimeConnection {
  send(command: unknown, waitsForAnswer?: boolean): Promise<Command>;
  ping(): void;
  close(): void;
}

interface RealtimeModule {
  readonly Realtime: new (options: unknown) => { _open(): Promise<RealtimeConnection> };
  readonly Protocals: {
    readonly GenericCommand: new (fields: unknown) => unknown;
    readonly AckCommand: new (fields: unknown) => unknown;
    readonly SessionCommand: new (fields: unknown) => unknown;
  };
}

const DATA = 9;
const LOGGEDIN = 15;

describe('clients of LeanCloud', () => {
  const connectors = new Connectors();
  beforeAll(() => connectors.start());
  afterAll(() => connectors.stop());
  const url = () => `ws://127.0.0.1:${connectors.first.port}/push`;

  /** One push before the login, and one after it. */
  const pushTwice = async (address: DeviceAddress, logIn: () => Promise<void>, received: () => number) => {
    const waited = await connectors.push([address]);
    await logIn();
    await eventually(() => {
      expect(received()).toBe(1);
    });
    const came = await connectors.push([address]);
    await eventually(() => {
      expect(received()).toBe(2);
    });
    await connectors.untilEmpty(address);
    return [waited, came];
  };

  it('leancloud-push 1.0.1 gets waiting and new pushes', async () => {
    const address = connectors.newAddress();
    const LeanCloudPush = require('leancloud-push') as new (options: unknown) => LeanCloudPush;
    const client = new LeanCloudPush({ ...address, appKey: 'key', heartbeatsTime: 50 });
    client.server = { server: url(), expires: new Date(8.64e15) };
    // The SDK saves its installation on another server.
    client.request = (_, done) => {
      done(null, {}, {});
    };
    const messages: unknown[] = [];
    client.on('message', (message) => messages.push(message));
    // The SDK's heartbeat timer outlives its socket.
    client.on('error', () => undefined);
    const logIn = () =>
      new Promise<void>((resolve, reject) => {
        client.open((error) => {
          if (error) reject(error);
          else resolve();
        });
      });
    const pushes = await pushTwice(address, logIn, () => messages.length);
    expect(messages).toEqual(pushes.map(({ body }) => body));
    client.close();
  });

  describe.each<[string, () => RealtimeModule]>([
    ['leancloud-realtime 4.3.1', () => require('leancloud-realtime') as RealtimeModule],
    [
      'leancloud-realtime 5.0.0-rc.8',
      () => createRequire(require.resolve('leancloud-storage'))('leancloud-realtime') as RealtimeModule,
    ],
  ])('%s', (_, load) => {
    it.each([false, true])('gets pushes through a plugin (noBinary: %s)', async (noBinary) => {
      // The SDK refuses a second application with the same id.
      const address = { ...connectors.newAddress(), appId: unique('app') };
      const { Realtime, Protocals } = load();
      const { GenericCommand, AckCommand, SessionCommand } = Protocals;
      const got: Command[] = [];
      const { appId, installationId } = address;
      const realtime = new Realtime({
        appId,
        appKey: 'key',
        server: `http://127.0.0.1:${connectors.first.port}`,
        RTMServers: url(),
        noBinary,
        plugins: {
          beforeCommandDispatch: (command: Command) => {
            if (command.cmd !== DATA) return true;
            got.push(command);
            const ackMessage = new AckCommand({ ids: command.dataMessage?.ids });
            void connection.send(new GenericCommand({ cmd: 3, installationId, ackMessage }), false);
            return false;
          },
        },
      });
      const connection = await realtime._open();
      const logIn = async () => {
        const answer = await connection.send(new GenericCommand({ cmd: 8, appId, installationId }));
        expect(answer).toMatchObject({ cmd: LOGGEDIN, installationId });
      };
      const pushes = await pushTwice(address, logIn, () => got.length);
      expect(got.flatMap(({ dataMessage }) => dataMessage?.ids)).toEqual(pushes.map(({ id }) => id));
      expect(got.map(({ dataMessage }) => JSON.parse(dataMessage?.msg[0]?.data ?? '') as unknown)).toEqual(
        pushes.map(({ body }) => body),
      );
      const chat = new GenericCommand({ cmd: 0, op: 1, appId, peerId: 'me', sessionMessage: new SessionCommand({}) });
      await expect(connection.send(chat)).rejects.toThrow(/neither instant messaging nor live queries/);
      await connectors.push([address]);
      await eventually(() => {
        expect(got).toHaveLength(3);
      });
      connection.close();
    });
  });

  it.each(['lc.protobuf2.3', 'lc.protobuf2.1'])('Android gets pushes over %s', async (protocol) => {
    const address = connectors.newAddress();
    const socket = new WebSocket(url(), [protocol], { perMessageDeflate: false });
    const got: Command[] = [];
    const texts: boolean[] = [];
    socket.on('message', (data: Buffer, isBinary) => {
      texts.push(!isBinary);
      const command = decodeCommand(data) as Command;
      if (command.cmd === DATA) socket.send(acknowledgement(address, command.dataMessage?.ids ?? []));
      got.push(command);
    });
    await new Promise((resolve) => socket.once('open', resolve));
    expect(socket.protocol).toBe(protocol);
    const data = () => got.filter(({ cmd }) => cmd === DATA);
    const logIn = () => {
      socket.send(login(address));
      return Promise.resolve();
    };
    const pushes = await pushTwice(address, logIn, () => data().length);
    expect(got[0]).toEqual({
      cmd: LOGGEDIN,
      service: 0,
      installationId: address.installationId,
      loggedinMessage: { pushDisabled: false },
    });
    expect(data().map(({ dataMessage }) => dataMessage?.ids)).toEqual(pushes.map(({ id }) => [id]));
    expect(texts).not.toContain(true);
    const pong = new Promise((resolve) => socket.once('pong', resolve));
    socket.ping();
    await pong;
    socket.close();
  });
});

/** Encoding of the Java SDK: field 3 or 6 of a GenericCommand, and field 10 of its field 105. */
const text = (field: number, value: string) =>
  Buffer.concat([Buffer.from([(field << 3) | 2, value.length]), Buffer.from(value)]);

function login({ appId, installationId }: DeviceAddress): Buffer {
  return Buffer.concat([Buffer.from([0x08, 8]), text(3, appId), text(6, installationId)]);
}

function acknowledgement({ installationId }: DeviceAddress, ids: readonly string[]): Buffer {
  const message = Buffer.concat(ids.map((id) => text(10, id)));
  const header = Buffer.from([0xca, 0x06, message.length]);
  return Buffer.concat([Buffer.from([0x08, 3]), text(6, installationId), header, message]);
}
