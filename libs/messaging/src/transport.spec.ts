import { describe, expect, it } from 'vitest';
import { appError } from '#errors';
import {
  decodeReply,
  decodeRequest,
  encodeError,
  encodeReply,
  encodeRequest,
  jsonOfReply,
  listReply,
} from './transport.js';

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

describe('a reply that its receiver passes on', () => {
  it('is the object as JSON', () => {
    expect(jsonOfReply(encodeReply({ results: [{ a: '}}' }], count: 1 }))).toBe('{"results":[{"a":"}}"}],"count":1}');
    expect(jsonOfReply(encodeReply({}))).toBe('{}');
  });

  it('is the error of the service', () => {
    expect(() => jsonOfReply(encodeError(appError('FORBIDDEN')))).toThrow(
      expect.objectContaining({ errorName: 'FORBIDDEN' }),
    );
  });

  it.each(['', 'no json', '{"data":7}', '{"data":[]}', '{"data":{'])('that is no object (%j) is INTERNAL', (text) => {
    expect(() => jsonOfReply(text)).toThrow(expect.objectContaining({ errorName: 'INTERNAL' }));
  });
});

describe('a list', () => {
  it.each([0, 1, 100, 101, 250, 1_000])('of %i results is encoded as JSON.stringify does it', async (length) => {
    const results = Array.from({ length }, (_, number) => ({ number, text: '",]}' }));
    for (const list of [{ results, count: 7 }, { results }, { results, count: undefined }])
      expect(encodeReply(await listReply(list))).toBe(JSON.stringify({ data: list }));
  });

  it('lets other work of the process run in between', async () => {
    let isElseDone = false;
    setImmediate(() => (isElseDone = true));
    await listReply({ results: Array.from({ length: 101 }, () => ({})) });
    expect(isElseDone).toBe(true);
  });
});
