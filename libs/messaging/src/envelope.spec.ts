import { describe, expect, it } from 'vitest';
import { appError } from '#errors';
import { decodeReply, decodeRequest, encodeError, encodeReply, encodeRequest } from './envelope.js';

describe('an envelope', () => {
  it('brings requests and replies', () => {
    const request = { pattern: 'sample.echo', data: { text: 'x' } };
    expect(decodeRequest(encodeRequest(request))).toEqual(request);
    expect(decodeReply(encodeReply({ text: 'x' }))).toEqual({ text: 'x' });
    expect(() => decodeReply(encodeError(appError('USER_NOT_FOUND')))).toThrow(
      expect.objectContaining({ errorName: 'USER_NOT_FOUND' }),
    );
  });

  it.each(['', 'no json', '7', '[]', '{"pattern":1}'])('that is none (%j) is INTERNAL', (text) => {
    const internal: unknown = expect.objectContaining({ errorName: 'INTERNAL' });
    expect(() => decodeRequest(text)).toThrow(internal);
    if (text !== '{"pattern":1}') expect(() => decodeReply(text)).toThrow(internal);
  });
});
