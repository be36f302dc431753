import { describe, expect, it } from 'vitest';
import { AppError, appError, type ErrorName, ERRORS } from './errors.js';
import { fromWireError, toAppError, toWireError } from './failures.js';

const rows = Object.entries(ERRORS) as [ErrorName, (typeof ERRORS)[ErrorName]][];

describe('the table of errors', () => {
  it.each(rows)('%s has a code, a 4xx or 5xx status and a text that ends with a full stop', (_, row) => {
    expect(row.code).toBeGreaterThan(0);
    expect(row.status).toBeGreaterThanOrEqual(400);
    expect(row.status).toBeLessThan(600);
    expect(row.message).toMatch(/^[A-Z].{5,}/);
  });

  it('has a Retry-After wherever it asks the client to try again', () => {
    for (const [, row] of rows) if (row.status === 503) expect(row.retryAfterSeconds).toBeGreaterThan(0);
  });

  it('exposes no implementation detail', () => {
    expect(JSON.stringify(ERRORS)).not.toMatch(/postgres|sql|rabbit|amqp|redis|nestjs|stack/i);
  });
});

describe('an AppError', () => {
  it.each(rows)('%s keeps its fields over the wire', (name, row) => {
    const received = fromWireError(JSON.parse(JSON.stringify(toWireError(appError(name)))) as unknown);
    expect(received).toMatchObject({ errorName: name, code: row.code, status: row.status, message: row.message });
    expect(received.retryAfterSeconds).toBe(row.retryAfterSeconds);
    expect(received.is(name)).toBe(true);
  });

  it('has neither cause nor stack', () => {
    const wire = JSON.stringify(toWireError(appError('INTERNAL', { cause: new Error('password=hunter2') })));
    expect(wire).not.toMatch(/hunter2|cause|stack|\.ts/);
  });

  it('from a newer release keeps its code and status', () => {
    const wire = { kind: 'AppError', name: 'FROM_THE_FUTURE', code: 999, status: 418, message: 'new' };
    expect(fromWireError(wire)).toMatchObject({ errorName: 'FROM_THE_FUTURE', code: 999, status: 418, message: 'new' });
  });

  it.each([
    null,
    undefined,
    'text',
    7,
    {},
    { kind: 'AppError' },
    { kind: 'AppError', name: 'X', code: 1, status: 200, message: 'm' },
  ])('is INTERNAL where the wire value is %j', (value) => {
    expect(fromWireError(value)).toMatchObject({ errorName: 'INTERNAL', status: 500 });
  });

  it('is INTERNAL with a fixed text for any other thrown value', () => {
    const cause = new TypeError('secret');
    const error = toAppError(cause);
    expect(error).toMatchObject({ errorName: 'INTERNAL', cause });
    expect(error.message).not.toContain('secret');
    const own = new AppError('USER_NOT_FOUND');
    expect(toAppError(own)).toBe(own);
  });
});
