import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../prepare.mjs';

const run = (command, ...args) => {
  const { status, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', env: { PATH: process.env.PATH } });
  return { status, stderr };
};

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

it('a command that cannot build for another user of the clone says so in one line', () => {
  const clone = mkdtempSync(join(tmpdir(), 'gatepost-clone-'));
  mkdirSync(join(clone, 'tools'));
  for (const name of ['tools/prepare.mjs', 'package-lock.json']) cpSync(join(ROOT, name), join(clone, name));
  chmodSync(clone, 0o555);
  const asAnother = 'if (process.getuid() === 0) process.setuid(65534);';
  const script = `import { ensureBuilt } from '${join(clone, 'tools/prepare.mjs')}'; ${asAnother} ensureBuilt();`;
  const { status, stderr } = run(process.execPath, '--input-type=module', '-e', script);
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/ cannot be written \(EACCES\)\. Run "npm .* owner\.\n$/),
  ]);
  chmodSync(clone, 0o755);
  rmSync(clone, { recursive: true });
});

describe('npm ci', () => {
  it('warns of no package that needs a newer Node.js', () => {
    const dryRun = ['--dry-run', '--offline', '--ignore-scripts', '--engine-strict'];
    expect(run('npm', 'ci', ...dryRun)).toMatchObject({ status: 0 });
  });
});
