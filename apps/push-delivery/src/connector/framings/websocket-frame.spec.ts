import { describe, expect, it } from 'vitest';
import { webSocketFrame } from '../device-connection.js';

describe('a WebSocket frame', () => {
  it.each([
    [0, '8100'],
    [125, '817d'],
    [126, '817e007e'],
    [65_535, '817effff'],
    [65_536, '817f0000000000010000'],
  ])('of %i bytes begins with %s', (length, header) => {
    const frame = webSocketFrame('a'.repeat(length), false);
    expect(frame.subarray(0, header.length / 2).toString('hex')).toBe(header);
    expect(frame.length).toBe(header.length / 2 + length);
  });

  it('counts bytes, not characters', () => {
    expect(webSocketFrame('你好', false).toString('hex')).toBe('8106e4bda0e5a5bd');
  });

  it('marks binary payloads', () => {
    expect(webSocketFrame(Buffer.from([8, 14]), true).toString('hex')).toBe('8202080e');
  });
});
