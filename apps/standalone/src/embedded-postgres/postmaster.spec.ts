import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { isServerOf } from './postmaster.js';

describe('isServerOf', () => {
  it.each([
    [['-D', '/srv/data/postgres', '-c', 'x=y'], true],
    [['-D', '/srv/data/postgres2', '-c', 'x=y'], false],
    [['-D', '/var/lib/postgresql/data'], false],
  ])('a process with the arguments %j: %s', async (args, isOurs) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '--', ...args], { stdio: 'ignore' });
    try {
      expect(await isServerOf('/srv/data/postgres', child.pid ?? 0)).toBe(isOurs);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it.each([0, 1, Number.NaN, 2 ** 22 + 1])('no process has the id %d', async (pid) => {
    expect(await isServerOf('/srv/data/postgres', pid)).toBe(false);
  });
});
