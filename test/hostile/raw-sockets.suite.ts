import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appClient, eventually, type GatepostServer, masterClient, scaleOfRun, unique } from '#testing';
import { DeviceFleet } from '../load/device-fleet.js';
import { rawFrames, rawHandshakes } from './corpus/raw-frames.js';
import { rawRequests } from './corpus/raw-requests.js';
import { ProcessWatch } from './process-watch.js';
import { converse, kindsOfAnswers, openSocket } from './raw-conversation.js';
import { frame, handshake, pings, RawDevice } from './raw-device.js';

const USUAL_REQUESTS = 20_000;
/** So many requests of the run are worth one more round of everything here. */
const REQUESTS_PER_ROUND = 1_000;
/** Of each kind, at each port. */
const SLOW = 20;
/** Of those that read nothing: each costs the server megabytes to begin with. */
const UNREAD_SLOW = 3;
const DRIBBLE_MS = 500;
/**
 * A request has 30 seconds, and is looked at every five; a device 15 for its login, and 30 to answer that it is closed. The rest is
 * a busy machine's.
 */
const PATIENCE_MS = 60_000;
/** A client that reads nothing has 30 to 60 seconds; a client that is not disconnected by then gets all answers. */
const UNREAD_MS = 70_000;
const UNREAD_PATIENCE_MS = 80_000;
/** More than the system's buffers hold. */
const UNREAD_ANSWERS = 200;
const WITNESSES = 3;

/** Attacks over raw connections: each is refused at once or given up in time, without effect on other clients. */
export function describeRawSockets(server: () => GatepostServer): void {
  describe('raw sockets', () => {
    const rounds = Math.max(2, Math.round(scaleOfRun('requests', USUAL_REQUESTS) / REQUESTS_PER_ROUND));
    const device = () => ({ appId: server().app.id, installationId: unique('raw') });
    const slow: SlowSocket[] = [];
    let witnesses: DeviceFleet;
    let watch: ProcessWatch;

    beforeAll(async () => {
      const { baseUrls, app } = server();
      witnesses = new DeviceFleet({ server: baseUrls[0] ?? '', appId: app.id, appKey: app.appKey, size: WITNESSES });
      await witnesses.start();
      watch = await ProcessWatch.over(server());
      watch.start();
      slow.push(...(await openSlowSockets(server())));
    });
    afterAll(async () => {
      for (const { socket } of slow) socket.destroy();
      await witnesses.stop();
      (watch as ProcessWatch | undefined)?.close();
    });

    it('serves others while slow connections are open', async () => {
      expect(slow.length).toBeGreaterThan(0);
      expect(slow.filter(({ closedAt }) => closedAt !== undefined)).toEqual([]);
      expect((await appClient(server()).get('/1.1/date')).status).toBe(200);
      const { body } = await masterClient(server()).post('/1.1/push', {
        channels: ['fleet'],
        data: { alert: 'hello' },
      });
      await eventually(() => {
        expect(witnesses.reached(String(body['objectId']))).toBe(WITNESSES);
      });
      expect(witnesses.mostReturns()).toBe(0);
      expect(slow.filter(({ closedAt }) => closedAt === undefined).length).toBeGreaterThan(0);
    });

    it('gets one answer to what no request is, and none to what is hidden in it', async () => {
      expect(await requestMistakes(server())).toEqual([]);
    });

    it('closes devices that send what no frame is, with the code that says why', async () => {
      expect(await frameMistakes(server(), device)).toEqual([]);
    });

    it('the same again and again', async () => {
      await watch.note();
      for (let round = 0; round < rounds; round += 1) {
        const mistakes = [...(await requestMistakes(server())), ...(await frameMistakes(server(), device))];
        expect(mistakes, `round ${round}`).toEqual([]);
        if (round === Math.floor(rounds / 2)) await watch.note();
      }
      await watch.note();
    });

    it('gives up what never ends', async () => {
      await eventually(() => {
        expect(slow.filter(({ closedAt }) => closedAt === undefined).map(({ name }) => name)).toEqual([]);
      }, UNREAD_PATIENCE_MS);
      const late = slow.filter(({ openedAt, closedAt = Infinity, patienceMs }) => closedAt - openedAt > patienceMs);
      expect(late.map(({ name }) => name)).toEqual([]);
      expect(witnesses.mostReturns()).toBe(0);
    });

    it('kept no process from answering, grew none, and planted nothing', async () => {
      await watch.stop();
      process.stderr.write(`Raw sockets, ${rounds} rounds\n${watch.report().join('\n')}\n`);
      expect(watch.problems()).toEqual([]);
    });
  });
}

/** Conversations with unexpected answers, on all HTTP ports that clients reach. */
async function requestMistakes(server: GatepostServer): Promise<string[]> {
  const requests = portsOf(server).flatMap(({ service, port }) => {
    const all = [...rawRequests(server.app), ...(service === 'gateway' ? [] : rawHandshakes())];
    return all.map((request) => ({ ...request, service, port }));
  });
  const mistakes = requests.map(async ({ name, bytes, kinds, isEnded = false, service, port }) => {
    const answer = await converse(port, bytes, isEnded).catch(String);
    const found = kindsOfAnswers(answer);
    return String(found) === String(kinds) ? [] : [`${service}: ${name} was answered ${answer.slice(0, 300)}`];
  });
  return (await Promise.all(mistakes)).flat();
}

/** Conversations closed with another code than expected, or not at all. */
async function frameMistakes(
  server: GatepostServer,
  device: () => { readonly appId: string; readonly installationId: string },
): Promise<string[]> {
  const ports = portsOf(server).filter(({ service }) => service !== 'gateway');
  const all = ports.flatMap(({ port }) => rawFrames(device()).map((frames) => ({ ...frames, port })));
  const mistakes = all.map(async ({ name, protocol, frames, code, port }) => {
    const attacker = await RawDevice.open(port, protocol);
    attacker.send(frames);
    const found = await attacker.closeCode().catch(String);
    return found === code ? [] : [`${name} was closed with ${found ?? 'nothing'}`];
  });
  return (await Promise.all(mistakes)).flat();
}

interface Slow {
  readonly name: string;
  readonly beginning: string | Buffer;
  /** The data sent repeatedly instead of an end. */
  readonly more?: string | Buffer;
  /** How long it reads nothing. */
  readonly unreadMs?: number;
}

interface SlowSocket {
  readonly name: string;
  readonly socket: Socket;
  readonly openedAt: number;
  readonly patienceMs: number;
  closedAt?: number;
}

/** Connections that begin something and never end it, though they go on sending, or never take what they asked for. */
function openSlowSockets(server: GatepostServer): Promise<SlowSocket[]> {
  const sockets = portsOf(server).flatMap(({ service, port }) => {
    const kinds = [
      ...slowRequests(server),
      ...(service === 'push-delivery' ? [] : [UNREAD]),
      ...(service === 'gateway' ? [] : slowDevices()),
    ];
    return kinds.flatMap((kind) =>
      Array.from({ length: kind === UNREAD ? UNREAD_SLOW : SLOW }, () =>
        dribble(port, { ...kind, name: `${service}: ${kind.name}` }),
      ),
    );
  });
  return Promise.all(sockets);
}

const UNREAD: Slow = {
  name: 'answers that the client does not read',
  beginning: 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(UNREAD_ANSWERS),
  unreadMs: UNREAD_MS,
};

function slowRequests({ app: { id, appKey } }: GatepostServer): Slow[] {
  const head = `POST /1.1/login HTTP/1.1\r\nHost: localhost\r\nX-LC-Id: ${id}\r\nX-LC-Key: ${appKey}\r\n`;
  return [
    { name: 'nothing', beginning: '' },
    { name: 'half a header', beginning: `${head}X-Slow: `, more: 'a' },
    { name: 'half a body', beginning: `${head}Content-Length: 1000000\r\n\r\n{"a":"`, more: 'a' },
    { name: 'half a body, without keys', beginning: `${STRANGER}Content-Length: 1000000\r\n\r\n{"a":"`, more: 'a' },
  ];
}

/** It is refused before its body is there. */
const STRANGER = 'POST /1.1/login HTTP/1.1\r\nHost: localhost\r\n';

function slowDevices(): Slow[] {
  const pieceOfFrame = frame('a'.repeat(16_000)).subarray(0, 100);
  return [
    { name: 'no login', beginning: handshake(), more: Buffer.concat(pings(1)) },
    { name: 'half a frame', beginning: Buffer.concat([Buffer.from(handshake()), pieceOfFrame]), more: 'a' },
  ];
}

async function dribble(port: number, { name, beginning, more = '', unreadMs = 0 }: Slow): Promise<SlowSocket> {
  const socket = await openSocket(port, { allowHalfOpen: true });
  const patienceMs = unreadMs > 0 ? UNREAD_PATIENCE_MS : PATIENCE_MS;
  const slow: SlowSocket = { name, socket, openedAt: performance.now(), patienceMs };
  socket.pause().write(beginning);
  setTimeout(() => socket.resume(), unreadMs);
  // Only who goes on sending sees whether the server has closed the connection, or its own side alone.
  const dribbling = setInterval(() => socket.write(socket.readableEnded ? '\r\n' : more), DRIBBLE_MS);
  socket.once('close', () => {
    slow.closedAt = performance.now();
    clearInterval(dribbling);
  });
  return slow;
}

function portsOf({ processes }: GatepostServer): GatepostServer['processes'] {
  return processes.filter(({ service }) => ['gateway', 'push-delivery', 'standalone'].includes(service));
}
