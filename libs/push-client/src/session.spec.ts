import { describe, expect, it } from 'vitest';
import { ackFrame, loginFrame, parseFrame } from './session.js';

const LATER = Date.UTC(2030, 0, 1);

describe('frames of the client', () => {
  it('are the login with seen ids, and acknowledgements', () => {
    expect(JSON.parse(loginFrame('app', 'device', ['a']))).toEqual({
      cmd: 'login',
      appId: 'app',
      installationId: 'device',
      seen: ['a'],
    });
    expect(JSON.parse(ackFrame(['a', 'b']))).toEqual({ cmd: 'ack', ids: ['a', 'b'] });
  });
});

describe('frames of a server', () => {
  const parsed = (frame: unknown) => parseFrame(JSON.stringify(frame));

  it.each([
    [{}, { cmd: 'heartbeat' }],
    [
      { cmd: 'loggedin', heartbeatSeconds: 55 },
      { cmd: 'loggedin', heartbeatSeconds: 55, serverTime: undefined },
    ],
    [
      { cmd: 'gap', id: 'gap-1', dropped: 3 },
      { cmd: 'gap', id: 'gap-1', dropped: 3 },
    ],
    [
      { cmd: 'goaway', retryAfterMs: 200, reason: 'restart' },
      { cmd: 'goaway', retryAfterMs: 200, reason: 'restart' },
    ],
    [
      { cmd: 'error', code: 4116, reason: 'too fast' },
      { cmd: 'error', code: 4116, reason: 'too fast' },
    ],
  ])('is understood: %j', (frame, meaning) => {
    expect(parsed(frame)).toEqual(meaning);
  });

  it('pair ids and bodies, and drop unpaired ones', () => {
    expect(parsed({ cmd: 'data', ids: ['a', 'b', 'c'], msg: [{ alert: '1' }, { alert: '2' }] })).toEqual({
      cmd: 'data',
      messages: [
        { id: 'a', data: { alert: '1' }, expiresAt: undefined },
        { id: 'b', data: { alert: '2' }, expiresAt: undefined },
      ],
    });
  });

  it.each([['2030-01-01T00:00:00.000Z'], [String(LATER)], [LATER]])('contain the expiry of a message: %s', (time) => {
    const frame = parsed({ cmd: 'data', ids: ['a'], msg: [{ _expiration_time: time }] });
    expect(frame).toMatchObject({ messages: [{ expiresAt: LATER }] });
  });

  it.each([['soon'], [true], [-1], [null]])('contain no valid expiry: %s', (time) => {
    const frame = parsed({ cmd: 'data', ids: ['a'], msg: [{ _expiration_time: time }] });
    expect(frame).toMatchObject({ messages: [{ expiresAt: undefined }] });
  });

  it.each([
    ['not JSON'],
    ['[]'],
    ['null'],
    ['7'],
    ['{"cmd":"dance"}'],
    ['{"cmd":"constructor"}'],
    ['{"cmd":{}}'],
    [new Uint8Array(2)],
  ])('means nothing: %s', (text) => {
    expect(parseFrame(text)).toBeUndefined();
  });

  it('contain no messages where ids or bodies are missing', () => {
    expect(parsed({ cmd: 'data', ids: 'a', msg: [{}] })).toEqual({ cmd: 'data', messages: [] });
    expect(parsed({ cmd: 'data', ids: [7], msg: [{}] })).toEqual({ cmd: 'data', messages: [] });
  });
});
