import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { archiveOf, eventually, gatepost, LeanCloudServer, newFolder, TestProcess } from '#testing';

let server: LeanCloudServer;
let folder: string;
let out: string;

beforeEach(async () => {
  server = await LeanCloudServer.start();
  folder = newFolder('rescue');
  out = join(folder, 'out');
  writeFileSync(join(folder, 'key'), `${server.masterKey}\n`, { mode: 0o600 });
  server.store.putUser('ada', 'secret of ada');
  for (let n = 0; n < 12_000; n += 1) server.store.put('Post', { n });
  // LeanCloud makes the export for a minute.
  server.behaviour.exportPolls = 60;
});
afterEach(() => server.stop());

const args = () => [
  ...['rescue', '--url', server.url, '--id', server.appId, '--master-key-file', join(folder, 'key'), '--out', out],
  ...['--allow-internal', '127.0.0.1', '--export-poll', '1'],
];

describe('gatepost rescue', () => {
  // npm passes on the signal of the terminal, which the command has got already.
  it('ends in order after one Ctrl-C that arrives twice', async () => {
    server.behaviour.delayMs = 60;
    const rescue = TestProcess.start('tools/gatepost.mjs', args(), {});
    await eventually(() => {
      if (!existsSync(join(out, 'scan', 'Post.0.jsonl'))) throw new Error('the first file is not there yet');
    }, 20_000);
    rescue.signal('SIGINT');
    // Less than the command takes to end: the process could be beyond its last listener.
    await sleep(5);
    rescue.signal('SIGINT');
    expect((await rescue.exited).status).toBe(2);
    expect(rescue.stdout).toContain('the rest: the command was interrupted.');
    expect(readdirSync(out)).not.toContain('rescue.lock');
  });

  it('takes up an archive that the browser has decompressed', async () => {
    server.behaviour.exportPolls = 0;
    server.behaviour.exportLacks = ['password', 'salt', 'sessionToken'];
    expect((await gatepost({ env: {} }, ...args())).status).toBe(2);
    writeFileSync(join(out, 'export', 'console.tar'), gunzipSync(await archiveOf(server.store, {}, [])));
    const { status, stderr } = await gatepost({ env: {} }, ...args());
    expect([status, stderr]).toEqual([0, expect.stringContaining('"export/console.tar" is taken up.')]);
  });

  it('refuses a folder that a running process uses', async () => {
    mkdirSync(join(out, 'rescue.lock'), { recursive: true });
    writeFileSync(join(out, 'rescue.lock', 'holder'), `${hostname()} ${process.pid}`);
    const { status, stderr } = await gatepost({ env: {} }, ...args());
    expect([status, stderr]).toEqual([1, expect.stringContaining(`Process ${process.pid} uses`)]);
  });

  it('does not wait for the export where the folder cannot be written', async () => {
    // Not even root can open a folder as a file.
    mkdirSync(join(out, 'scan', 'Post.0.jsonl.tmp'), { recursive: true });
    mkdirSync(join(out, 'rescue.lock'));
    const { status, stderr } = await gatepost({ env: {} }, ...args());
    expect([status, stderr]).toEqual([1, expect.stringContaining('EISDIR')]);
  });
});
