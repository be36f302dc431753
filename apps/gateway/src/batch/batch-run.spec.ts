import type { Response } from 'light-my-request';
import { describe, expect, it } from 'vitest';
import { appError } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';
import { BatchResponse } from './batch-run.js';

const JSON_TYPE = 'application/json; charset=utf-8';

function answerTo(method: string, statusCode: number, payload: string, type = JSON_TYPE): unknown {
  const answer = new BatchResponse();
  answer.add(method, { statusCode, headers: { 'content-type': type }, payload } as unknown as Response);
  return JSON.parse(answer.toString());
}

describe('BatchResponse', () => {
  it('contains successes and errors in order', () => {
    const answer = new BatchResponse();
    const json = { headers: { 'content-type': JSON_TYPE } };
    answer.add('POST', { ...json, statusCode: 201, payload: '{"objectId":"1"}' } as unknown as Response);
    answer.add('PUT', { ...json, statusCode: 403, payload: '{"code":206,"error":"no"}' } as unknown as Response);
    answer.addError(appError('MALFORMED_JSON', { message: 'a "quoted" text' }));
    expect(JSON.parse(answer.toString())).toEqual([
      { success: { objectId: '1' } },
      { error: { code: 206, error: 'no' } },
      { error: { code: 107, error: 'a "quoted" text' } },
    ]);
  });

  it('is an empty list where there was nothing', () => {
    expect(new BatchResponse().toString()).toBe('[]');
  });

  it('says null for an object that is not there, and for nothing else', () => {
    expect(answerTo('GET', 200, '{}')).toEqual([{ success: null }]);
    expect(answerTo('DELETE', 200, '{}')).toEqual([{ success: {} }]);
    expect(answerTo('GET', 200, '{"results":[]}')).toEqual([{ success: { results: [] } }]);
  });

  it('stays JSON where an answer is none', () => {
    expect(answerTo('GET', 200, 'callback({"a":1})', 'text/javascript')).toEqual([{ success: 'callback({"a":1})' }]);
    expect(answerTo('GET', 200, '', 'undefined')).toEqual([{ success: '' }]);
  });

  it('counts successes and errors towards one limit', () => {
    const answer = new BatchResponse();
    const half = JSON.stringify({ code: 1, error: 'x'.repeat(MAX_MESSAGE_BYTES / 2) });
    for (const statusCode of [200, 404, 404, 200]) {
      const payload = statusCode === 200 ? '{}' : half;
      answer.add('POST', { statusCode, headers: { 'content-type': JSON_TYPE }, payload } as unknown as Response);
    }
    const entries = JSON.parse(answer.toString()) as { error?: { code: number } }[];
    expect(entries.map(({ error }) => error?.code)).toEqual([undefined, 1, 116, undefined]);
  });
});
