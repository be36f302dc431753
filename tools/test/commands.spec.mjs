import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../prepare.mjs';

const run = (command, ...args) => {
  const { status, stderr } = spawned(command, ...args);
  return { status, stderr };
};
const spawned = (command, ...args) =>
  spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', env: { PATH: process.env.PATH } });

describe('a command with an argument that it does not know', () => {
  it.each([
    ['tools/services.mjs'],
    ['tools/proof.mjs', 'races'],
    ['tools/vendor-stand-ins.mjs'],
    ['bench/run.mjs'],
    ['bench/peers/run.mjs'],
    ['bench/push/run.mjs'],
    ['bench/vendors/run.mjs'],
  ])('%s names it, and the help', (script, ...args) => {
    expect(run(process.execPath, join(ROOT, script), ...args, '--unheard=2')).toEqual({
      status: 1,
      stderr: "Unknown option '--unheard'. See --help.\n",
    });
  });

  it('npm start names the variable for what a port could be', () => {
    const { status, stderr } = run(process.execPath, 'tools/start.mjs', '--port=9000');
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^npm start takes no .*--port=9000.*GATEPOST_PORT.*\n$/),
    ]);
  });
});

describe('a clone that has to be built', () => {
  let clone;
  beforeEach(() => {
    clone = mkdtempSync(join(tmpdir(), 'gatepost-clone-'));
    mkdirSync(join(clone, 'tools'));
    for (const name of ['tools/prepare.mjs', 'package-lock.json']) cpSync(join(ROOT, name), join(clone, name));
  });
  afterEach(() => {
    chmodSync(clone, 0o755);
    rmSync(clone, { recursive: true });
  });
  const build = (before) => {
    const script = `import { ensureBuilt } from '${join(clone, 'tools/prepare.mjs')}'; ${before} ensureBuilt();`;
    return spawned(process.execPath, '--input-type=module', '-e', script);
  };

  it('and cannot be written by this user is named in one line', () => {
    chmodSync(clone, 0o555);
    const { status, stderr } = build('if (process.getuid() === 0) process.setuid(65534);');
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/ cannot be locked for it \(EACCES\)\. Run "npm .* owner\.\n$/),
    ]);
  });

  it('is not waited for where the lock names the process itself, as after a restart of a container', () => {
    const lock = join(clone, '.prepare.lock');
    const noPrograms = `process.env.PATH = '';`;
    const { status, stderr } = build(
      `(await import('node:fs')).writeFileSync('${lock}', String(process.pid)); ${noPrograms}`,
    );
    expect(stderr).not.toContain('Waiting for process');
    expect([status, stderr]).toEqual([1, expect.stringContaining('npm cannot be run')]);
  });

  it('leaves standard output to the command: the output of the build goes to standard error', () => {
    const program = (path, text) => {
      mkdirSync(join(clone, path, '..'), { recursive: true });
      writeFileSync(join(clone, path), text, { mode: 0o755 });
    };
    for (const folder of ['apps', 'libs']) mkdirSync(join(clone, folder));
    for (const name of ['tsconfig.json', 'tsconfig.build.json']) cpSync(join(ROOT, name), join(clone, name));
    program('bin/npm', '#!/bin/sh\n');
    program('node_modules/typescript/bin/tsc', `process.stdout.write('a type error'); process.exit(2);`);
    const { status, stdout, stderr } = build(`process.env.PATH = '${join(clone, 'bin')}:' + process.env.PATH;`);
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining('a type error')]);
  });
});

describe('npm ci', () => {
  it('warns of no package that needs a newer Node.js', () => {
    const dryRun = ['--dry-run', '--offline', '--ignore-scripts', '--engine-strict'];
    expect(run('npm', 'ci', ...dryRun)).toMatchObject({ status: 0 });
  });
});
