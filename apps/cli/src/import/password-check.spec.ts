import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leancloudHash } from '#security';
import { runGatepost } from '../gatepost.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatepost-check-'));
  file = join(folder, '_User.0.jsonl');
  const times = { createdAt: '2020-01-01T00:00:00.000Z', updatedAt: '2020-01-01T00:00:00.000Z' };
  const user = { objectId: 'user1', username: 'ada', password: leancloudHash('salt', 'right'), salt: 'salt', ...times };
  writeFileSync(file, JSON.stringify(user));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function check(input: string, ...options: string[]) {
  let [stdout, stderr] = ['', ''];
  const status = await runGatepost(['import', file, '--app', 'shop', '--check', 'ada', ...options], {
    env: {},
    readInput: () => Buffer.from(input),
    openInput: () => Readable.from([]),
    writeOutput: (text) => (stdout += text),
    writeError: (text) => (stderr += text),
  });
  return { status, stdout, stderr };
}

describe('the check of a password', () => {
  it.each([
    ['right\r\n', 0, 'The password is right.\n'],
    ['wrong\n', 1, 'The password is wrong.\n'],
  ])('compares %j from standard input', async (input, status, stdout) => {
    expect(await check(input, '--password-stdin')).toEqual({ status, stdout, stderr: '' });
  });

  it('uses the password of an earlier row where the newest has none, as in a scan', async () => {
    const user = { objectId: 'user1', username: 'ada', createdAt: '2020-01-01T00:00:00.000Z' };
    appendFileSync(file, `\n${JSON.stringify({ ...user, updatedAt: '2020-01-02T00:00:00.000Z' })}`);
    expect((await check('right', '--password-stdin')).stdout).toBe('The password is right.\n');
    // A later user who took the name over.
    appendFileSync(file, `\n${JSON.stringify({ ...user, objectId: 'user2', updatedAt: '2020-01-03T00:00:00.000Z' })}`);
    expect((await check('right', '--password-stdin')).status).toBe(1);
  });

  it('does not call the password wrong where standard input has none', async () => {
    const { status, stdout, stderr } = await check('\n', '--password-stdin');
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Standard input holds no password\..*\n$/);
  });

  it.each(['\u0003', '\u0004'])('ends in plain English where %j answers the question', async (key) => {
    const [terminal, real] = [Object.assign(new PassThrough(), { isTTY: true }), process.stdin];
    Object.defineProperty(process, 'stdin', { value: terminal, configurable: true });
    try {
      const checked = check('');
      await once(terminal, 'resume');
      terminal.write(key);
      const { status, stderr } = await checked;
      expect([status, stderr]).toEqual([1, 'Password: \nNo password was typed: nothing was compared.\n']);
    } finally {
      Object.defineProperty(process, 'stdin', { value: real, configurable: true });
    }
  });
});
