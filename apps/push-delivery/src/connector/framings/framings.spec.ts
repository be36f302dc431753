import { describe, expect, it, vi } from 'vitest';
import { MalformedFrame } from './framing.js';
import { chooseProtocol, framingOf } from './framings.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const textOf = (text: string) => Buffer.from(text).toString('hex');
/** `app` and `device`, as fields 3 and 6 of a GenericCommand. */
const APP = `1a03${textOf('app')}`;
const DEVICE = `3206${textOf('device')}`;
const MESSAGE = { id: 'one', body: '{"alert":"a"}', bytes: 13 };

describe('framings', () => {
  it.each([
    [['lc.protobuf2.3'], 'lc.protobuf2.3', 'protobuf', true],
    [['lc.protobuf2.1'], 'lc.protobuf2.1', 'protobuf', true],
    [['lc.proto2base64.3'], 'lc.proto2base64.3', 'base64', false],
    [['lc.proto2base64.1'], 'lc.proto2base64.1', 'base64', false],
    [['other', 'gatepost.push.v1', 'lc.protobuf2.3'], 'gatepost.push.v1', 'gatepost', false],
    [['other'], undefined, 'json', false],
    [['__proto__'], undefined, 'json', false],
    [[], undefined, 'json', false],
  ])('offered %j', (offered, protocol, name, isBinary) => {
    expect(chooseProtocol(offered)).toBe(protocol);
    expect(framingOf(protocol ?? '')).toMatchObject({ name, isBinary });
  });
});

describe('protobuf', () => {
  const framing = framingOf('lc.protobuf2.3');
  const written = (frame: Parameters<typeof framing.write>[0]) =>
    Buffer.from(framing.write(frame) ?? '').toString('hex');

  it.each([
    [
      'the login of Android',
      `0808 ${APP} ${DEVICE}`,
      { kind: 'login', appId: 'app', installationId: 'device', i: undefined, seen: [] },
    ],
    [
      'a login with a system report, a number and service 0',
      `0808 ${APP} 2807 ${DEVICE} 4000 a206 04 0a02 0801`,
      { kind: 'login', appId: 'app', installationId: 'device', i: 7, seen: [] },
    ],
    ['a login for live queries', `0808 ${APP} 2807 ${DEVICE} 4001`, { kind: 'unsupported', i: 7 }],
    [
      'an acknowledgement',
      `0803 ${DEVICE} ca06 0a 5203${textOf('one')} 5203${textOf('two')}`,
      { kind: 'ack', ids: ['one', 'two'] },
    ],
    ['an empty acknowledgement', '0803', { kind: 'ack', ids: [] }],
    ['an echo', '080e 2809', { kind: 'echo', i: 9 }],
    ['a logout', '0810 2803 4001', { kind: 'logout', i: 3 }],
    ['the opening of a chat', `0800 1001 ${APP} 2201${textOf('p')} 2805`, { kind: 'unsupported', i: 5 }],
    ['an unknown command', '0863', { kind: 'unsupported', i: undefined }],
    ['nothing', '', { kind: 'unsupported', i: undefined }],
  ])('reads %s', (_, bytes, command) => {
    expect(framing.read(hex(bytes))).toEqual(command);
  });

  it.each(['08', '1aff01', 'ca06ff', 'ffffffff'])('refuses the bytes %s', (bytes) => {
    expect(() => framing.read(hex(bytes))).toThrow(MalformedFrame);
  });

  it('confirms a login with the numbers of the SDKs', () => {
    const frame = { kind: 'loggedIn', installationId: 'device', heartbeatSeconds: 55 } as const;
    expect(written({ ...frame, i: undefined })).toBe(hex(`080f ${DEVICE} 4000 aa07 02 0800`).toString('hex'));
    expect(written({ ...frame, i: 7 })).toBe(hex(`080f 2807 ${DEVICE} 4000 aa07 02 0800`).toString('hex'));
  });

  it('sends messages without a peer and a number', () => {
    const message = `0a0d${textOf(MESSAGE.body)}`;
    const data = `0a03${textOf('one')} 120f ${message}`;
    expect(written({ kind: 'data', messages: [MESSAGE] })).toBe(hex(`0809 4000 aa06 16 ${data}`).toString('hex'));
  });

  it('answers echoes, logouts and unsupported commands with their numbers', () => {
    expect(written({ kind: 'echo', i: 9 })).toBe(hex('080e 2809').toString('hex'));
    expect(written({ kind: 'loggedOut', i: 3 })).toBe(hex('0811 2803').toString('hex'));
    const error = { kind: 'error', code: 4100, reason: 'no' } as const;
    expect(written({ ...error, i: 5 })).toBe(hex(`0807 2805 ba06 07 088420 1202${textOf('no')}`).toString('hex'));
  });

  it('sends no frame that would harm its clients', () => {
    expect(framing.write({ kind: 'error', code: 4111, reason: '', i: undefined })).toBeUndefined();
    expect(framing.write({ kind: 'goAway', retryAfterMs: 1, reason: '' })).toBeUndefined();
    expect(framing.write({ kind: 'gap', id: 'gap', dropped: 1 })).toBeUndefined();
  });

  it('is the same in base64', () => {
    const base64 = framingOf('lc.proto2base64.3');
    expect(base64.read(Buffer.from(hex('080e 2809').toString('base64')))).toEqual({ kind: 'echo', i: 9 });
    expect(base64.write({ kind: 'echo', i: 9 })).toBe(hex('080e 2809').toString('base64'));
    expect(() => base64.read(Buffer.from('CA=='))).toThrow(MalformedFrame);
  });
});

describe.each(['', 'gatepost.push.v1'])('JSON (%s)', (protocol) => {
  const framing = framingOf(protocol);

  it.each([
    ['{}', { kind: 'heartbeat' }],
    [
      '{"cmd":"login","appId":"app","installationId":"device","seen":["one",2]}',
      { kind: 'login', appId: 'app', installationId: 'device', i: undefined, seen: ['one'] },
    ],
    [
      '{"cmd":"login","appId":{},"installationId":[]}',
      { kind: 'login', appId: '', installationId: '', i: undefined, seen: [] },
    ],
    ['{"cmd":"ack","ids":["one",{},"two"]}', { kind: 'ack', ids: ['one', 'two'] }],
    ['{"cmd":"ack","ids":"one"}', { kind: 'ack', ids: [] }],
    ['{"__proto__":{"cmd":"login"}}', { kind: 'heartbeat' }],
    ['{"cmd":"toString"}', { kind: 'unsupported', i: undefined }],
  ])('reads %s', (text, command) => {
    expect(framing.read(Buffer.from(text))).toEqual(command);
  });

  it.each(['', '{', 'null', '"login"', '[{}]', '1'])('refuses %j', (text) => {
    expect(() => framing.read(Buffer.from(text))).toThrow(MalformedFrame);
  });

  it('sends bodies as they are', () => {
    const messages = [MESSAGE, { id: 'two', body: '{"n":1}', bytes: 7 }];
    expect(framing.write({ kind: 'data', messages })).toBe(
      '{"cmd":"data","ids":["one","two"],"msg":[{"alert":"a"},{"n":1}]}',
    );
    expect(framing.write({ kind: 'heartbeat' })).toBe('{}');
  });
});

describe('gatepost.push.v1', () => {
  it('has the frames that the other framings lack', () => {
    const framing = framingOf('gatepost.push.v1');
    expect(framing.write({ kind: 'gap', id: 'gap-1', dropped: 3 })).toBe('{"cmd":"gap","id":"gap-1","dropped":3}');
    expect(framing.write({ kind: 'goAway', retryAfterMs: 5, reason: 'r' })).toBe(
      '{"cmd":"goaway","retryAfterMs":5,"reason":"r"}',
    );
    expect(framing.write({ kind: 'error', code: 4100, reason: 'r', i: undefined })).toBe(
      '{"cmd":"error","code":4100,"reason":"r"}',
    );
  });

  it('sends its time at the login, for devices with a wrong clock', () => {
    vi.useFakeTimers({ now: 1_795_305_600_000 });
    const loggedIn = { kind: 'loggedIn', installationId: 'd', i: undefined, heartbeatSeconds: 55 } as const;
    expect(framingOf('gatepost.push.v1').write(loggedIn)).toBe(
      '{"cmd":"loggedin","heartbeatSeconds":55,"serverTime":1795305600000}',
    );
    vi.useRealTimers();
  });
});
