import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePorts, gatepost, gatepostProcess, newFolder, TestProcess } from '#testing';

const ROOT = join(import.meta.dirname, '../..');

/** Starts over a folder on which it must fail with a single line. @returns that line */
async function failedStart(folder: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const port = String(await freePorts(1));
  const server = TestProcess.start('tools/start.mjs', [], {
    GATEPOST_DATA_DIR: folder,
    GATEPOST_PORT: port,
    GATEPOST_CONSOLE_PORT: 'off',
    ...env,
  });
  expect(await server.exited).toEqual({ status: 1, signal: null });
  expect(server.stderr.trim().split('\n')).toHaveLength(1);
  return server.stderr;
}

describe('what cannot start says why', () => {
  it('lists all configuration errors in one message, by name and not by value', async () => {
    const bad = {
      GATEPOST_PORT: 'eighty',
      GATEPOST_SECRET: 'short-secret',
      GATEPOST_MASTERKEY: 'typo',
      GATEPOST_DATA_DIR: newFolder('data'),
    };
    const server = TestProcess.start('tools/start.mjs', [], bad);
    expect((await server.exited).status).toBe(1);
    for (const name of ['GATEPOST_PORT', 'GATEPOST_SECRET', 'GATEPOST_MASTERKEY'])
      expect(server.stderr).toContain(name);
    expect(server.stderr).not.toMatch(/eighty|short-secret|'typo'|\n\s+at /);
  });

  it('a port of 0, with which clients could not know the address', async () => {
    const server = TestProcess.start('tools/start.mjs', [], {
      GATEPOST_PORT: '0',
      GATEPOST_DATA_DIR: newFolder('data'),
    });
    expect((await server.exited).status).toBe(1);
    expect(server.stderr.trim()).toBe(
      'The environment has a problem:\n  GATEPOST_BASE_URL: must be set where GATEPOST_PORT is 0',
    );
  });

  it('one port for both servers, a wrong address of one, before anything is created', async () => {
    const port = String(await freePorts(1));
    const both = { GATEPOST_PORT: port, GATEPOST_CONSOLE_PORT: port };
    // An address for documentation, which no machine has.
    const nowhere = '192.0.2.1';
    const starts: [RegExp, Record<string, string>][] = [
      [/^Port \d+ of the operator console is already in use\. .*GATEPOST_CONSOLE_PORT/, both],
      [/cannot listen on port \d+ of 192\.0\.2\.1 \(EADDRNOTAVAIL\)\. .*GATEPOST_HOST/, { GATEPOST_HOST: nowhere }],
      [/^Gatepost cannot listen on of\.invalid \(\w+\)\. .*GATEPOST_HOST/, { GATEPOST_HOST: 'of.invalid' }],
      [/console cannot listen on .*EADDRNOTAVAIL.*GATEPOST_CONSOLE_HOST/, { GATEPOST_CONSOLE_HOST: nowhere }],
    ];
    for (const [message, env] of starts) {
      const folder = newFolder('data');
      expect(await failedStart(folder, { GATEPOST_CONSOLE_PORT: String(await freePorts(1)), ...env })).toMatch(message);
      expect(existsSync(join(folder, 'postgres'))).toBe(false);
    }
  });

  it('a setting of the console, before the first application is created', async () => {
    const folder = newFolder('data');
    const wrong = { GATEPOST_CONSOLE_PORT: String(await freePorts(1)), GATEPOST_CONSOLE_URL: 'http://example.com' };
    const server = TestProcess.start('tools/start.mjs', [], {
      GATEPOST_DATA_DIR: folder,
      GATEPOST_PORT: String(await freePorts(1)),
      GATEPOST_LOG_LEVEL: 'info',
      ...wrong,
    });
    expect(await server.exited).toEqual({ status: 1, signal: null });
    expect(server.stderr).toContain('GATEPOST_CONSOLE_URL: must begin with https');
    expect(server.stderr).not.toContain('created the application');
  });

  it('a database folder that is not whole, and stays as it is', async () => {
    const folder = newFolder('data');
    mkdirSync(join(folder, 'postgres', 'base'), { recursive: true });
    expect(await failedStart(folder)).toMatch(/postgres is not empty, but has no PG_VERSION/);
    expect(readdirSync(join(folder, 'postgres'))).toEqual(['base']);
  });

  it('a database folder that is a link to nothing', async () => {
    const folder = newFolder('data');
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'postgres'));
    expect(await failedStart(folder)).toMatch(/postgres is a link to .*elsewhere, which does not exist/);
    expect(existsSync(join(folder, 'gatepost.sock'))).toBe(false);
  });

  it('a secret that was cut off', async () => {
    const folder = newFolder('data');
    writeFileSync(join(folder, 'secret'), '');
    expect(await failedStart(folder)).toMatch(/The secret in .*secret is truncated/);
    expect(existsSync(join(folder, 'postgres', 'PG_VERSION'))).toBe(false);
  });

  it.each([
    ['postgres-password', 'secret', /password of the database is missing: restore .*postgres-password/],
    ['secret', 'postgres-password', /The secret that seals stored values is missing: restore .*secret from a backup/],
  ])('a database whose file %s is lost, and makes no new one', async (_, kept, message) => {
    const folder = newFolder('data');
    mkdirSync(join(folder, 'postgres'));
    writeFileSync(join(folder, 'postgres', 'PG_VERSION'), '17\n');
    writeFileSync(join(folder, kept), 'x'.repeat(43));
    expect(await failedStart(folder)).toMatch(message);
    expect(readdirSync(folder).toSorted()).toEqual([kept, 'postgres'].toSorted());
  });

  it('a service that lacks what it needs', async () => {
    const accounts = TestProcess.start('dist/apps/accounts/src/main.js', [], { GATEPOST_PORT: '0' });
    expect((await accounts.exited).status).toBe(1);
    expect(accounts.stderr).toMatch(/GATEPOST_SECRET: must be set/);
    const production = TestProcess.start('dist/apps/mail/src/main.js', [], {
      NODE_ENV: 'production',
      GATEPOST_PORT: '0',
    });
    expect((await production.exited).status).toBe(1);
    expect(production.stderr).toMatch(/AMQP_URL: must be set in production/);
  });

  it('the command line, where no server answers', async () => {
    const { status, stderr } = await gatepostProcess(
      { env: { GATEPOST_DATA_DIR: newFolder('empty'), AMQP_URL: 'amqp://guest:guest@127.0.0.1:1' } },
      ['apps', 'list'],
    );
    expect(status).toBe(1);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toMatch(/AMQP_URL/);
  });

  it('the command line, with help for every command', async () => {
    const env = { GATEPOST_DATA_DIR: newFolder('empty') };
    const commands = [['--help'], ['apps', '--help'], ['apps', 'set', '--help'], ['migrate', '--help']];
    const outcomes = await Promise.all([
      gatepostProcess({ env }, ['--help']),
      ...commands.map((args) => gatepost({ env }, ...args)),
    ]);
    for (const { status, stdout } of outcomes) expect([status, stdout.includes('Usage: gatepost')]).toEqual([0, true]);
    expect(outcomes[3]?.stdout).toContain('verifyEmailOnSignUp');
  });

  it.runIf(existsSync('/dev/full'))('the command line, whose output cannot be written', async () => {
    const statusOf = (script: string) =>
      new Promise((resolve) => {
        const env = { PATH: process.env['PATH'] };
        spawn('bash', ['-c', `set -o pipefail; ${script}`], { env, cwd: ROOT, stdio: 'ignore' }).once('close', resolve);
      });
    expect(await statusOf('node tools/gatepost.mjs --help > /dev/full')).toBe(1);
    const reason = '$(node tools/gatepost.mjs --help 2>&1 > /dev/full)';
    expect(await statusOf(`[[ "${reason}" == 'The output cannot be written (ENOSPC).'* ]]`)).toBe(0);
    expect(await statusOf('node tools/gatepost.mjs apps set --help | head -1')).toBe(0);
  });
});
