import { describe, expect, it } from 'vitest';
import { appError } from '#errors';
import { decodeReply, decodeRequest, encodeError, encodeReply, encodeRequest } from './transport.js';

describe('an envelope', () => {
  it('decodes requests and replies', () => {
    const request = { pattern: 'sample.echo', data: { text: 'x' } };
    expect(decodeRequest(encodeRequest(request))).toEqual(request);
    expect(decodeReply(encodeReply({ text: 'x' }))).toEqual({ text: 'x' });
    expect(() => decodeReply(encodeError(appError('USER_NOT_FOUND')))).toThrow(
      expect.objectContaining({ errorName: 'USER_NOT_FOUND' }),
    );
  });

  it('of a request has the form of older versions where no trace exists', () => {
    expect(JSON.parse(encodeRequest({ pattern: 'sample.echo', data: 1 }))).toEqual({ pattern: 'sample.echo', data: 1 });
  });

  it('of a request contains the trace, and drops invalid ones', () => {
    const request = { pattern: 'sample.echo', data: 1 };
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    expect(decodeRequest(JSON.stringify({ ...request, traceparent }))).toEqual({ ...request, traceparent });
    expect(decodeRequest(JSON.stringify({ ...request, traceparent: 7 }))).toEqual(request);
  });

  it.each(['', 'no json', '7', '[]', '{"pattern":1}'])('that is invalid (%j) is INTERNAL', (text) => {
    const internal: unknown = expect.objectContaining({ errorName: 'INTERNAL' });
    expect(() => decodeRequest(text)).toThrow(internal);
    if (text !== '{"pattern":1}') expect(() => decodeReply(text)).toThrow(internal);
  });
});
