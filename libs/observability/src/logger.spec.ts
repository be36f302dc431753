import type { Logger } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { appError, ServerAway } from '#errors';
import { FailureLog } from './logger.js';

const MINUTE_MS = 60_000;

describe('the log of a failure that repeats', () => {
  const open = () => {
    const lines: string[] = [];
    const write = (level: string) => (text: string) => lines.push(`${level} ${text}`);
    const logger = { warn: write('warn'), log: write('log'), debug: write('debug') };
    const clock = { nowMs: 0 };
    return { lines, clock, failures: new FailureLog(logger as unknown as Logger, 'cleanup', () => clock.nowMs) };
  };

  it('warns at the start and every ten minutes while the failure lasts', () => {
    const { lines, clock, failures } = open();
    for (let minute = 0; minute < 20; minute += 1) {
      clock.nowMs = minute * MINUTE_MS;
      failures.failed(new Error('refused'));
    }
    expect(lines.filter((line) => line === 'warn cleanup failed: refused')).toHaveLength(2);
    expect(lines.filter((line) => line === 'debug cleanup failed: refused')).toHaveLength(18);
  });

  it('names the cause behind a public text, and logs an unreachable server at debug only', () => {
    const { lines, failures } = open();
    failures.failed(appError('SERVICE_UNAVAILABLE', { cause: new ServerAway('PostgreSQL: ECONNREFUSED') }));
    failures.failed(appError('SERVICE_UNAVAILABLE', { cause: new Error('PostgreSQL: 57014') }));
    expect(lines).toEqual(['debug cleanup failed: PostgreSQL: ECONNREFUSED', 'warn cleanup failed: PostgreSQL: 57014']);
  });

  it('reports the end of a failure that it has warned about, and nothing else', () => {
    const { lines, failures } = open();
    failures.succeeded();
    failures.failed(new Error('refused'));
    failures.succeeded();
    failures.succeeded();
    expect(lines).toEqual(['warn cleanup failed: refused', 'log cleanup succeeds again']);
  });
});
