import { randomBytes } from 'node:crypto';
import { frame, handshake, pings } from '../raw-device.js';
import type { RawRequest } from './raw-requests.js';

/** Frames of a device, and the code with which its connection is closed; undefined where it is cut off. */
export interface RawFrames {
  readonly name: string;
  /** The sub-protocol that it offers. */
  readonly protocol?: string;
  readonly frames: readonly Buffer[];
  readonly code: number | undefined;
}

const FLOOD = 1_000;
const JUNK_BYTES = 1_000;
const BINARY = 2;
const CONTINUATION = 0;
const PING = 9;
const PONG = 10;
const times = (count: number, one: Buffer) => Array.from({ length: count }, () => one);
const login = (fields: object) => frame(JSON.stringify({ cmd: 'login', ...fields }));

/** Frames that our devices never send. @param device may log in, and does not acknowledge for others */
export function rawFrames(device: { readonly appId: string; readonly installationId: string }): RawFrames[] {
  const open = login(device);
  return [
    ...unreadable(),
    ...strangers(device.appId),
    // The sender does not wait until this many answers have left.
    { name: 'a flood of pings', frames: pings(FLOOD), code: undefined },
    { name: 'a flood of pongs', frames: times(FLOOD, frame('', { opcode: PONG })), code: 4116 },
    { name: 'a flood of logins', frames: times(FLOOD, open), code: 4116 },
    { name: 'a flood of unknown frames', frames: times(FLOOD, frame('{"cmd":"__proto__"}')), code: 4116 },
    {
      name: 'a flood of acknowledgements',
      frames: [open, ...times(FLOOD, frame(JSON.stringify({ cmd: 'ack', ids: Array(200).fill('__proto__') })))],
      code: 4116,
    },
    { name: 'a login as another device', frames: [open, login({ ...device, installationId: 'other' })], code: 4103 },
    ...['lc.protobuf2.3', 'lc.proto2base64.3', 'gatepost.push.v1', 'nonsense'].map((protocol) => ({
      name: `junk in ${protocol}`,
      protocol,
      frames: [junkFor(protocol)],
      code: 1007,
    })),
  ];
}

/** Starts with a field of a kind that there is not, so that no chance makes it a message; read as base64, so could any other junk. */
function junkFor(protocol: string): Buffer {
  const junk = Buffer.concat([Buffer.from([0x0f]), randomBytes(JUNK_BYTES)]);
  return protocol === 'lc.proto2base64.3' ? frame(junk.toString('base64')) : frame(junk, { opcode: BINARY });
}

function unreadable(): RawFrames[] {
  const endless = frame('', { opcode: CONTINUATION, isFinal: false });
  return [
    { name: 'a text that is no UTF-8', frames: [frame(Buffer.from([0xc3, 0x28]))], code: 1007 },
    { name: 'JSON that is too deep', frames: [frame('['.repeat(16_000))], code: 1007 },
    { name: 'a frame without a mask', frames: [frame('{}', { isMasked: false })], code: 1002 },
    { name: 'a frame of a kind that there is not', frames: [frame('{}', { opcode: 3 })], code: 1002 },
    { name: 'bits of no negotiated extension', frames: [frame('{}', { reserved: 0x40 })], code: 1002 },
    { name: 'a frame that is too long', frames: [frame('a'.repeat(16_385))], code: 1009 },
    { name: 'a frame that says to be huge', frames: [frame('{}', { length: 2n ** 52n })], code: 1009 },
    { name: 'a frame longer than any number', frames: [frame('{}', { length: 2n ** 62n })], code: 1009 },
    { name: 'a message without end', frames: [frame('', { isFinal: false }), ...times(FLOOD, endless)], code: 1008 },
    { name: 'an end without a beginning', frames: [frame('{}', { opcode: CONTINUATION })], code: 1002 },
    { name: 'a ping that is too long', frames: [frame('a'.repeat(126), { opcode: PING })], code: 1002 },
    { name: 'a ping in pieces', frames: [frame('a', { opcode: PING, isFinal: false })], code: 1002 },
  ];
}

function strangers(appId: string): RawFrames[] {
  const names = ['__proto__', 'constructor', 'toString', "'", '\0', '../..', 'a'.repeat(1_000)];
  return [
    ...names.map((name) => ({
      name: `a login to ${JSON.stringify(name).slice(0, 20)}`,
      frames: [login({ appId: name, installationId: name })],
      code: 4100,
    })),
    { name: 'a login as an object', frames: [login({ appId, installationId: { $ne: '' } })], code: 4103 },
    { name: 'a login as NUL', frames: [login({ appId, installationId: '\0' })], code: 4103 },
    { name: 'a login without an installation id', frames: [login({ appId, installationId: '' })], code: 4103 },
  ];
}

/** Requests to become a WebSocket that are none. */
export function rawHandshakes(): RawRequest[] {
  const without = (header: RegExp) => handshake().replace(header, '');
  const requests: Record<string, string> = {
    'a path where no devices are': handshake('', 'GET /elsewhere HTTP/1.1'),
    'another method': handshake('', 'POST /push HTTP/1.1'),
    'no key': without(/Sec-WebSocket-Key.*\r\n/),
    'no version': without(/Sec-WebSocket-Version.*\r\n/),
    'sub-protocols that are none': handshake('Sec-WebSocket-Protocol: a,,b\r\n'),
  };
  return Object.entries(requests).map(([name, bytes]) => ({ name, bytes, kinds: [4] }));
}
