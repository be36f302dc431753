import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isServerOf, Postmaster, stopLeftover } from './embedded-postgres.js';

/** A server that reports the state in the file `state` of its folder, if there is one, as PostgreSQL reports its own. */
const SERVER = `#!${process.execPath}
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const [, , , folder] = process.argv;
process.on('SIGINT', () => process.exit(0));
setInterval(() => {
  if (!existsSync(folder + '/state')) return;
  const lines = [process.pid, folder, 0, 5432, folder, '', '0 0', readFileSync(folder + '/state', 'utf8')];
  writeFileSync(folder + '/postmaster.pid', lines.join('\\n'));
}, 10);
`;

describe('the start of a server', { timeout: 20_000 }, () => {
  let folder: string;
  let postmaster: Postmaster;
  const report = (state: string) => {
    writeFileSync(join(folder, 'state'), `${state.padEnd(8)}\n`);
  };
  const start = (limits: { readonly answerMs: number; readonly recoveryMs: number }) => {
    const postgres = join(folder, 'server.mjs');
    writeFileSync(postgres, SERVER, { mode: 0o700 });
    const binaries = { major: '', postgres, initdb: '', pgCtl: '' };
    const options = { binaries, folder, password: '', logFile: join(folder, 'log'), user: undefined, connections: 1 };
    postmaster = new Postmaster(options, {}, { ...limits, progressMs: 500 });
    return postmaster.untilReady();
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatepost-postmaster-'));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await postmaster.stop();
    rmSync(folder, { recursive: true });
  });

  it('lasts as long as it recovers from a crash, with lines of progress', async () => {
    const warned = vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    report('starting');
    const ready = start({ answerMs: 2_000, recoveryMs: 60_000 });
    expect(await Promise.race([ready.then(() => 'ready'), sleep(3_000, 'starts')])).toBe('starts');
    report('ready');
    await ready;
    expect(warned.mock.calls.length).toBeGreaterThan(1);
    expect(warned.mock.calls.length).toBeLessThan(8);
    expect(warned).toHaveBeenCalledWith(expect.stringMatching(/^PostgreSQL has been starting for \d+ s/));
  });

  it('fails where the recovery takes too long', async () => {
    vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    report('starting');
    await expect(start({ answerMs: 500, recoveryMs: 1_000 })).rejects.toThrow('PostgreSQL did not start: see ');
  });

  it('fails where the server does not report that it starts', async () => {
    await expect(start({ answerMs: 500, recoveryMs: 60_000 })).rejects.toThrow('PostgreSQL did not start: see ');
  });
});

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

describe('the lock file of a server that was killed', () => {
  let folder: string;
  /** Whether the file is there still after a start. */
  const isKept = async (pid: number | undefined) => {
    writeFileSync(join(folder, 'postmaster.pid'), `${pid}\n${folder}\n`);
    const binaries = { major: '', postgres: '', initdb: '', pgCtl: '' };
    await stopLeftover({ binaries, folder, password: '', logFile: '', user: undefined, connections: 1 });
    return existsSync(join(folder, 'postmaster.pid'));
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatepost-lock-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['another program has its id', process.pid],
    ['no process has its id', 2 ** 22 + 1],
    ['it is truncated', Number.NaN],
  ])('is removed where %s', async (_, pid) => {
    expect(await isKept(pid)).toBe(false);
  });

  it('is kept where another PostgreSQL has its id', async () => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      argv0: '/usr/lib/postgresql/18/bin/postgres',
      stdio: 'ignore',
    });
    try {
      expect(await isKept(other.pid)).toBe(true);
    } finally {
      other.kill('SIGKILL');
    }
  });
});
