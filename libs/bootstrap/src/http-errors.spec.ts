import { BadRequestException, HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { appError } from '#errors';
import { fromHttp } from './http.js';

describe('fromHttp', () => {
  it('returns an AppError unchanged', () => {
    const error = appError('USERNAME_TAKEN');
    expect(fromHttp(error)).toBe(error);
  });

  it.each<[string, unknown, string]>([
    ["Nest's 404", new NotFoundException('Cannot GET /x'), 'NOT_FOUND'],
    ["Nest's 413", new HttpException('Request body is too large', 413), 'PAYLOAD_TOO_LARGE'],
    ["Nest's 400", new BadRequestException('Unexpected token in /srv/app.js'), 'MALFORMED_JSON'],
    ["Fastify's 415", Object.assign(new Error('Unsupported Media Type'), { statusCode: 415 }), 'MALFORMED_JSON'],
    ["Fastify's 413", Object.assign(new Error('over 1048576'), { statusCode: 413 }), 'PAYLOAD_TOO_LARGE'],
    ['a TypeError', new TypeError('x is not a function'), 'INTERNAL'],
    ['a text', 'thrown text', 'INTERNAL'],
    ['nothing', undefined, 'INTERNAL'],
    ["Nest's 500", new HttpException('secret', 500), 'INTERNAL'],
  ])('turns %s into an error of the table, without its text', (_, thrown, errorName) => {
    const error = fromHttp(thrown);
    expect(error.errorName).toBe(errorName);
    if (thrown instanceof Error) expect(error.message).not.toContain(thrown.message);
  });
});
