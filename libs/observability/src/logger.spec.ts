import fs from 'node:fs';
import type { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { appError, ServerAway } from '#errors';
import { FailureLog, JsonLogger, logWarnings } from './logger.js';

const MINUTE_MS = 60_000;

describe('a log whose lines cannot be written', () => {
  const failing = (code: string) => () => {
    throw Object.assign(new Error(code), { code });
  };

  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each(['ENOSPC', 'EIO', 'EPIPE'])('loses them, and the process continues: %s', (code) => {
    const write = vi.spyOn(fs, 'writeSync').mockImplementation(failing(code));
    const logger = new JsonLogger('sample', 'info');
    for (let line = 0; line < 3; line += 1) logger.log('lost');
    expect(write).toHaveBeenCalled();
  });

  it('has later lines again, and none of the lost ones', () => {
    const write = vi.spyOn(fs, 'writeSync').mockImplementation(failing('ENOSPC'));
    const logger = new JsonLogger('sample', 'info');
    for (let line = 0; line < 3; line += 1) logger.log('lost');
    const written: string[] = [];
    write.mockImplementation((_, text) => {
      written.push(text);
      return Buffer.byteLength(text);
    });
    logger.log('first');
    logger.log('second');
    expect(written.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['first', 'second']);
  });
});

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

describe("Node's warnings", () => {
  const warningsOf = async (prepare: () => void) => {
    const [before, warn] = [process.listeners('warning'), console.warn];
    const lines: string[] = [];
    process.removeAllListeners('warning');
    prepare();
    logWarnings({ warn: (line: string) => lines.push(line) } as unknown as Logger);
    process.emitWarning('old');
    await new Promise(setImmediate);
    process.removeAllListeners('warning');
    for (const listener of before) process.on('warning', listener);
    console.warn = warn;
    return lines;
  };

  it('are lines of the log, unless NODE_NO_WARNINGS has left them without a listener', async () => {
    expect(await warningsOf(() => process.on('warning', () => undefined))).toEqual(['Warning: old']);
    expect(await warningsOf(() => undefined)).toEqual([]);
  });
});
