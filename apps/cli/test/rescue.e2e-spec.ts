import { chmodSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import AV from 'leancloud-storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  archiveOf,
  type CommandOutcome,
  eventually,
  gatepost,
  leanCloudHash,
  LeanCloudServer,
  newFolder,
  TestProcess,
} from '#testing';

interface Manifest {
  readonly import: string[];
  readonly missing: { what: string; reason: string; remedy: string }[];
  readonly notes: string[];
  readonly runs: { startedAt: string; finishedAt?: string; status?: number }[];
  readonly exports: { kind: string; path?: string; fromDate: string | null; classes?: { class: string }[] }[];
  readonly classes: { name: string; rows: number | null; serverRows: number | null; scans: { files: string[] }[] }[];
  readonly relations: { class: string; field: string; members: number; files: string[] }[];
  readonly files: { index: string; count: number; bytes: number };
}

interface FileRecord {
  readonly objectId: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

let server: LeanCloudServer;
let folder: string;
let out: string;

beforeEach(async () => {
  server = await LeanCloudServer.start();
  folder = newFolder('rescue');
  out = join(folder, 'out');
  writeFileSync(join(folder, 'key'), `${server.masterKey}\n`, { mode: 0o600 });
});
afterEach(() => server.stop());

function argsOf(...more: string[]): string[] {
  const usual = ['--url', server.url, '--id', server.appId, '--master-key-file', join(folder, 'key'), '--out', out];
  return ['rescue', ...usual, '--allow-internal', '127.0.0.1', '--export-poll', '1', ...more];
}

function rescue(...more: string[]): Promise<CommandOutcome> {
  return gatepost({ env: {} }, ...argsOf(...more));
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8')) as Manifest;
}

function rowsIn(names: readonly string[]): Record<string, unknown>[] {
  return names.flatMap((name) => {
    const [header, ...lines] = readFileSync(join(out, name), 'utf8').trimEnd().split('\n');
    expect(header).toMatch(/^#filetype:JSON-streaming \{"type":"Class","class":"/);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  });
}

/** The scanned rows of a class. */
function scanned(name: string): Record<string, unknown>[] {
  const found = manifest().classes.find((each) => each.name === name);
  return rowsIn(found?.scans.flatMap(({ files }) => files) ?? []);
}

function idsOf(rows: readonly Record<string, unknown>[]): string[] {
  return rows.map(({ objectId }) => objectId as string).sort();
}

function fileRecords(): FileRecord[] {
  const text = readFileSync(join(out, manifest().files.index), 'utf8').trimEnd();
  return text.split('\n').map((line) => JSON.parse(line) as FileRecord);
}

/** All files below the folder, with their modes. */
function everything(): { path: string; mode: number }[] {
  return readdirSync(out, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return { path, mode: statSync(path).mode & 0o777 };
  });
}

function missing(): string[] {
  return manifest().missing.map(({ what, reason }) => `${what}: ${reason}`);
}

function fillSmall(): { users: string[]; role: string } {
  const users = ['ada', 'bob', 'cyd'].map((name) => server.store.putUser(name, `${name} secret`).objectId);
  const role = server.store.put('_Role', { name: 'admin' }).objectId;
  server.store.relate('_Role', role, 'users', users);
  server.store.put('_Installation', { installationId: 'i1', deviceType: 'android', valid: true });
  for (let n = 0; n < 25; n += 1) server.store.put('Post', { n, title: `第 ${n} 篇` });
  server.addFile('a.txt', Buffer.from('content of a'));
  return { users, role };
}

describe('gatepost rescue', () => {
  it('copies rows, relations, files, schemas and both archives, and names what an import reads', async () => {
    const { users, role } = fillSmall();
    const parent = server.store.put('_Role', { name: 'parent' }).objectId;
    server.store.relate('_Role', parent, 'roles', [role]);
    server.store.define('Team', { players: { type: 'Relation', className: '_User' } });
    const team = server.store.put('Team', { name: 'x' }).objectId;
    const players = Array.from({ length: 2_300 }, (_, n) => server.store.putUser(`u${n}`, undefined).objectId);
    server.store.relate('Team', team, 'players', players);

    const { status, stdout, stderr } = await rescue('--json');

    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(JSON.parse(stdout)).toMatchObject({
      isComplete: true,
      users: { rows: 2_303, password: 3, salt: 3, sessionToken: 2_303 },
      files: { count: 1, bytes: 12 },
    });
    const { import: paths, relations, exports, classes } = manifest();
    expect(exports.map(({ kind }) => kind)).toEqual(['data', 'schema']);
    expect(paths.slice(0, 2).every((path) => /^export\/(?:data|schema)-.*\.tar\.gz$/.test(path))).toBe(true);
    expect(paths.filter((path) => path.startsWith('scan/_User'))).toEqual(['scan/_User.0.jsonl']);
    expect(paths.every((path) => existsSync(join(out, path)))).toBe(true);
    expect(classes.every(({ rows, serverRows }) => rows === serverRows)).toBe(true);
    expect(idsOf(scanned('Post'))).toHaveLength(25);
    expect(relations.map(({ class: name, field, members }) => [name, field, members])).toEqual([
      ['_Role', 'users', 3],
      ['_Role', 'roles', 1],
      ['Team', 'players', 2_300],
    ]);
    const join_ = relations[0]?.files ?? [];
    expect(join_[0]).toMatch(/_Join.?_User.?users.?_Role\.0\.jsonl$/);
    expect(rowsIn(join_)).toEqual(users.map((relatedId) => ({ owningId: role, relatedId })));
    expect(new Set(rowsIn(relations[2]?.files ?? []).map(({ relatedId }) => relatedId))).toEqual(new Set(players));
    expect(readFileSync(join(out, fileRecords()[0]?.path ?? ''), 'utf8')).toBe('content of a');
    expect(existsSync(join(out, 'schema', '_User_schema.json'))).toBe(true);
  });

  it('keeps numbers over 2^53, and rows as LeanCloud wrote them', async () => {
    const fields = { text: 'a "quoted" } ] { text\n', list: [[{ a: 1 }], []] };
    server.store.put('Post', { ...fields, n: 'long:9007199254740993' });
    server.store.put('Post', { ...fields, n: 2 });
    await rescue();
    expect(scanned('Post')).toEqual([expect.objectContaining(fields), expect.objectContaining({ ...fields, n: 2 })]);
    expect(readFileSync(join(out, 'scan', 'Post.0.jsonl'), 'utf8')).toContain('"n":9007199254740993');
  });

  it('keeps everything private, and the key out of the folder, the output and the host of files', async () => {
    fillSmall();
    const { stdout, stderr } = await rescue();
    expect(statSync(out).mode & 0o777).toBe(0o700);
    for (const { path, mode } of everything()) {
      expect(mode & 0o077).toBe(0);
      if (statSync(path).isFile()) expect(readFileSync(path).includes(server.masterKey)).toBe(false);
    }
    expect(stdout + stderr).not.toContain(server.masterKey);
    // The link of an archive opens it without a login.
    expect(stdout + stderr + readFileSync(join(out, 'manifest.json'), 'utf8')).not.toContain(`${server.appId}-export`);
    expect(server.files.keysReceived).toBe(0);
    expect(server.mostAtOnce).toBeLessThanOrEqual(5);
  });

  it('says loudly that the archive lacks passwords and sessions, and takes up the archive of the console', async () => {
    fillSmall();
    server.behaviour.exportLacks = ['password', 'salt', 'sessionToken'];
    const { status, stdout } = await rescue();
    expect(status).toBe(2);
    expect(stdout).toContain('- PASSWORDS: 3 of 3 users are in no archive with password and salt.');
    expect(stdout).toContain('- SESSIONS: 3 of 3 users are in no archive with sessionToken.');
    expect(stdout).toContain('数据存储 › 导入导出 › 数据导出');
    expect(missing()).toHaveLength(2);

    writeFileSync(join(out, 'export', 'console.tar.gz'), await archiveOf(server.store, {}, []));
    expect(await rescue()).toMatchObject({ status: 0 });
    expect(manifest().import[0]).toBe('export/console.tar.gz');

    // The archive of the console does not have a later user, whom the next export has without a password.
    server.store.putUser('dora', 'dora secret');
    expect(await rescue()).toMatchObject({ status: 2 });
    expect(missing()).toEqual([
      'PASSWORDS: 1 of 4 users are in no archive with password and salt',
      'SESSIONS: 1 of 4 users are in no archive with sessionToken',
    ]);
    expect(manifest().import.filter((path) => path.startsWith('export/data-')).length).toBeGreaterThan(0);
    expect(manifest().import).toContain('scan/_User.0.jsonl');
  });

  it('needs no change for another export', async () => {
    server.store.put('Post', { n: 1 }, new Date('2026-01-01T00:00:00Z'));
    expect(await rescue()).toMatchObject({ status: 0 });
    for (let run = 0; run < 2; run += 1) expect(await rescue()).toMatchObject({ status: 0 });
    expect(missing()).toEqual([]);
    server.store.putUser('bob', 'bob secret');
    expect(await rescue()).toMatchObject({ status: 0 });
    const exports = manifest().exports.filter(({ kind }) => kind === 'data');
    expect(exports.map(({ classes = [] }) => classes.map((each) => each.class))).toEqual([['Post'], [], [], ['_User']]);
  });

  it('has another export made where LeanCloud does not make one for days', async () => {
    fillSmall();
    server.behaviour.exportPolls = Infinity;
    expect((await rescue('--export-wait', '0')).stdout).toContain('LeanCloud still makes it after 0 minutes');
    const startedAt = '2026-01-01T00:00:00.000Z';
    const exports = manifest().exports.map((each) => ({ ...each, startedAt }));
    writeFileSync(join(out, 'manifest.json'), JSON.stringify({ ...manifest(), exports }));
    server.behaviour.exportPolls = 0;
    expect(await rescue()).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('has not made it since') as string,
    });
    expect(manifest().exports.every(({ path }) => path !== undefined)).toBe(true);
  });

  it('fetches what has changed since the begin of an old run that it continues', async () => {
    fillSmall();
    await rescue();
    const startedAt = new Date(Date.parse(manifest().runs[0]?.startedAt ?? '') - 7_200_000).toISOString();
    writeFileSync(join(out, 'manifest.json'), JSON.stringify({ ...manifest(), runs: [{ startedAt }] }));
    server.store.putUser('dora', 'dora secret');
    expect(await rescue()).toMatchObject({ status: 0, stderr: expect.stringContaining('is continued') as string });
    expect(scanned('_User').map(({ username }) => username)).toContain('dora');
    expect(manifest().runs.map(({ finishedAt }) => finishedAt !== undefined)).toEqual([true, true]);
  });

  it('fetches what is new in a second run, and mends what is damaged', async () => {
    const { users, role } = fillSmall();
    const { objectId } = server.addFile('b.txt', Buffer.from('content of b'));
    await rescue();
    const [first] = manifest().exports;
    const before = server.files.calls.length;

    server.store.put('Post', { title: 'new' });
    const [old] = server.store.find('Post', { n: 3 });
    server.store.put('Post', { objectId: old?.objectId, title: 'changed' });
    server.store.unrelate('_Role', role, 'users', users[0] ?? '');
    server.addFile('c.txt', Buffer.from('content of c'));
    const damaged = fileRecords().find((each) => each.objectId === objectId)?.path ?? '';
    truncateSync(join(out, damaged), 3);
    expect(await rescue()).toMatchObject({ status: 0 });

    expect(manifest().classes.find(({ name }) => name === 'Post')).toMatchObject({ rows: 26, serverRows: 26 });
    expect(scanned('Post').filter(({ title }) => title === 'changed')).toHaveLength(1);
    expect(rowsIn(manifest().relations[0]?.files ?? [])).toHaveLength(2);
    expect(manifest().exports.filter(({ kind }) => kind === 'data')).toEqual([
      first,
      expect.objectContaining({ fromDate: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string }),
    ]);
    expect(readFileSync(join(out, damaged), 'utf8')).toBe('content of b');
    // The new file, the damaged one and two archives.
    expect(server.files.calls.length - before).toBe(4);
    expect(manifest().files).toMatchObject({ count: 3, bytes: 36 });
    // The files of the earlier relations are gone. Roles without roles have a file without rows: an import then misses no members.
    const joins = readdirSync(join(out, 'scan')).filter((name) => name.startsWith('_Join'));
    expect(joins.map((name) => rowsIn([`scan/${name}`]).length).sort()).toEqual([0, 2]);
  });

  it('copies rows of a time only with --since, and everything without it later', async () => {
    server.store.put('Post', { n: 1 }, new Date('2026-01-01T00:00:00Z'));
    server.store.put('Post', { n: 2 }, new Date('2026-06-01T00:00:00Z'));
    expect(await rescue('--since', '2026-05-01')).toMatchObject({ status: 0 });
    expect(scanned('Post').map(({ n }) => n)).toEqual([2]);
    expect(server.calls).toContainEqual(expect.stringContaining('POST /1.1/exportData'));
    expect(manifest().exports[0]?.fromDate).toBe('2026-05-01');
    expect(await rescue()).toMatchObject({ status: 0 });
    expect(new Set(scanned('Post').map(({ n }) => n))).toEqual(new Set([1, 2]));
    expect(manifest().exports.filter(({ kind }) => kind === 'data')[1]?.fromDate).toBe(null);
  });
});

describe('an interrupted gatepost rescue', () => {
  const ROWS = 25_500;

  it.each(['SIGKILL', 'SIGINT'] as const)(
    'continues after %s where it was',
    async (signal) => {
      for (let n = 0; n < ROWS; n += 1) server.store.put('Post', { n });
      fillSmall();
      const whole = server.store.find('Post', {}).length;
      server.behaviour.exportPolls = 2;
      server.behaviour.delayMs = 60;
      const killed = TestProcess.start('tools/gatepost.mjs', argsOf(), {});
      await eventually(() => {
        if (scanned('Post').length === 0) throw new Error('the manifest does not name the first file yet');
      }, 20_000);
      killed.signal(signal);
      const { status } = await killed.exited;
      expect(status).toBe(signal === 'SIGKILL' ? null : 2);
      if (signal === 'SIGINT') expect(killed.stdout).toContain('the rest: the command was interrupted.');
      const scansBefore = server.calls.filter((call) => call.includes('scan/classes/Post')).length;
      expect(scansBefore).toBeLessThan(26);

      server.behaviour.delayMs = 0;
      const { status: second, stderr } = await rescue();
      expect({ second, stderr }).toMatchObject({ second: 0 });
      expect(stderr).toContain('is continued');
      const scansAfter = server.calls.filter((call) => call.includes('scan/classes/Post')).length - scansBefore;
      expect(scansAfter).toBeLessThan(20);
      expect(server.calls.some((call) => call.includes('scan/classes/Post') && call.includes('"$gt"'))).toBe(true);
      expect(new Set(idsOf(scanned('Post'))).size).toBe(whole);
      // A kill can fall between the answer to a request for an export and its entry in the manifest.
      const exports = server.calls.filter((call) => call.startsWith('POST /1.1/exportData')).length;
      expect(exports - manifest().exports.length).toBeLessThanOrEqual(signal === 'SIGKILL' ? 1 : 0);
      expect(manifest().exports).toHaveLength(2);
      expect(everything().filter(({ path }) => /\.(?:tmp|part|lock)$/.test(path))).toEqual([]);
    },
    60_000,
  );

  it('goes on where a cursor has expired', async () => {
    for (let n = 0; n < 3_500; n += 1) server.store.put('Post', { n });
    server.behaviour.cursorLifeMs = -1;
    expect(await rescue()).toMatchObject({ status: 0 });
    expect(new Set(idsOf(scanned('Post'))).size).toBe(3_500);
  });

  it('survives storms of 429 and 503, cut connections, and a cut download', async () => {
    fillSmall();
    server.behaviour.storm = { count: 6, status: 429, retryAfter: '1' };
    server.behaviour.cut = { path: '/classes/Post', count: 2 };
    server.files.cuts = 2;
    const { status, stderr } = await rescue();
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stderr).toContain('LeanCloud asks to wait 1 s (429).');
    expect(server.files.calls.some((call) => /^GET \/export\/.* bytes=\d+-$/.test(call))).toBe(true);
    server.behaviour.storm = { count: 3, status: 503, retryAfter: undefined };
    expect(await rescue()).toMatchObject({ status: 0 });
  });
});

describe('gatepost rescue', () => {
  it('keeps what it has where LeanCloud refuses the key meanwhile, and continues with a new one', async () => {
    for (let n = 0; n < 12_000; n += 1) server.store.put('Post', { n });
    server.behaviour.delayMs = 60;
    const running = rescue();
    await eventually(() => {
      if (!existsSync(join(out, 'scan', 'Post.0.jsonl'))) throw new Error('the first file is not there yet');
    }, 20_000);
    const key = server.masterKey;
    server.masterKey = 'another';
    const { status, stdout } = await running;
    expect(status).toBe(2);
    expect(stdout).toContain('the rest: ');
    expect(stdout).toContain('LeanCloud answered 401');
    server.masterKey = key;
    server.behaviour.delayMs = 0;
    expect(await rescue()).toMatchObject({ status: 0 });
    expect(new Set(idsOf(scanned('Post'))).size).toBe(12_000);
  });
});

describe('gatepost rescue does nothing', () => {
  it('with a wrong key', async () => {
    writeFileSync(join(folder, 'key'), server.appKey, { mode: 0o600 });
    const { status, stderr } = await rescue();
    expect(status).toBe(1);
    expect(stderr).toContain('LeanCloud answered 401 "Unauthorized."');
    expect(stderr).not.toContain(server.appKey);
    expect(existsSync(out)).toBe(false);
  });

  it('for an archived application', async () => {
    server.behaviour.isArchived = true;
    const { status, stderr } = await rescue();
    expect(status).toBe(1);
    expect(stderr).toContain('The app is archived, please restore in console before use.');
    expect(stderr).toContain("Restore the application in LeanCloud's console");
  });

  it('with a key file that others may read', async () => {
    chmodSync(join(folder, 'key'), 0o644);
    const { status, stderr } = await rescue();
    expect({ status, calls: server.calls }).toEqual({ status: 1, calls: [] });
    expect(stderr).toContain('chmod 600');
  });

  it('with a folder that holds other files, or another application', async () => {
    writeFileSync(join(folder, 'other'), '');
    expect(await gatepost({ env: {} }, ...argsOf().map((arg) => (arg === out ? folder : arg)))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('holds other files') as string,
    });
    await rescue();
    const text = readFileSync(join(out, 'manifest.json'), 'utf8');
    writeFileSync(join(out, 'manifest.json'), text.replaceAll(server.appId, 'another'));
    expect(await rescue()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('holds the application another') as string,
    });
  });

  it.each(['http://example.com', 'ftp://127.0.0.1', 'example.com'])('at the address %s', async (url) => {
    const args = argsOf().map((arg) => (arg === server.url ? url : arg));
    expect(await gatepost({ env: {} }, ...args)).toMatchObject({ status: 1 });
  });
});

describe('the stand-in of LeanCloud', () => {
  it('lets the npm package leancloud-storage sign up and log in, and refuses a wrong password', async () => {
    AV.init({ appId: server.appId, appKey: server.appKey, serverURL: server.url });
    server.store.putUser('ada', '密码测试🔑');
    const user = await AV.User.logIn('ada', '密码测试🔑');
    expect(await user.isAuthenticated()).toBe(true);
    await expect(AV.User.logIn('ada', 'wrong')).rejects.toMatchObject({ code: 210 });
    const bob = await AV.User.signUp('bob', 'secret', {});
    expect((await AV.User.become(bob.getSessionToken())).getUsername()).toBe('bob');
  });

  it('hashes as LeanCloud does', () => {
    // The sample of LeanCloud's guide, on the encryption of exported users.
    expect(leanCloudHash('h60d8x797d3oa0naxybxxv9bn7xpt2yiowz68mpiwou7gwr2', 'password')).toBe(
      'tA7BLW+NK0UeARng0693gCaVnljkglCB9snqlpCSUKjx2RgYp8VZZOQt0S5iUtlDrkJXfT3gknS4rRqjYsd/Ug==',
    );
  });
});

describe('what a hostile application holds', () => {
  it('writes no path outside the folder, and copies the rest', async () => {
    server.store.define('../../x');
    server.store.define('__proto__');
    server.store.put('__proto__', { a: 1 });
    server.store.put('_File', {
      objectId: '../../../etc/y',
      name: '../../../../tmp/evil',
      url: `${server.files.url}/z`,
    });
    server.files.contents.set('/z', Buffer.from('z'));
    server.store.put('CON', {});
    server.store.put('post', { a: 1 });
    server.store.put('Post', { a: 2 });
    const { status, stdout } = await rescue();
    expect(status).toBe(2);
    expect(stdout).toContain('class "../../x": LeanCloud permits no such name');
    expect(missing()).toHaveLength(1);
    expect(readdirSync(folder).sort()).toEqual(['key', 'out']);
    expect(scanned('Post')).toHaveLength(1);
    expect(scanned('post')).toHaveLength(1);
    expect(scanned('__proto__')).toHaveLength(1);
    const names = readdirSync(join(out, 'scan')).map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
    expect(names.some((name) => name.startsWith('con.'))).toBe(false);
    expect(fileRecords()).toEqual([
      expect.objectContaining({ path: expect.stringMatching(/^files\/\w\w\/id-[0-9a-f]{32}$/) as string }),
    ]);
  });

  it('reaches no internal address, follows redirects under guard, and ends endless files', async () => {
    const { url } = server.files;
    const names = ['fast', 'slow', 'stalled'] as const;
    for (const name of names) {
      server.files.endless.set(`/${name}`, name);
      server.store.put('_File', { name, url: `${url}/${name}` });
    }
    server.files.contents.set('/there', Buffer.from('moved'));
    server.files.redirects.set('/moved', `${url.replace('127.0.0.1', 'localhost')}/there`);
    server.files.redirects.set('/inside', 'http://169.254.169.254/latest/meta-data');
    server.files.redirects.set('/local', 'file:///etc/passwd');
    server.files.redirects.set('/loop', `${url}/loop`);
    const urls = { moved: `${url}/moved`, inside: `${url}/inside`, local: `${url}/local`, loop: `${url}/loop` };
    for (const [name, address] of Object.entries(urls)) server.store.put('_File', { name, url: address });
    server.store.put('_File', { name: 'private', url: 'http://127.0.0.2:1/x' });
    server.store.put('_File', { name: 'scheme', url: 'file:///etc/passwd' });
    server.store.put('_File', { name: 'gone', url: `${url}/gone` });
    server.store.put('_File', { name: 'none' });

    const limits = ['--file-timeout', '3', '--max-file-mb', '1', '--timeout', '2', '--concurrency', '8'];
    const { status } = await rescue(...limits, '--allow-internal', '127.0.0.1,::1');

    expect(status).toBe(2);
    const reasons = missing().join('\n');
    const expected = {
      fast: 'the file exceeds 1048576 bytes',
      slow: 'the time limit is over',
      inside: 'the address is in an internal network',
      local: 'the address is no http or https URL',
      loop: 'more than 5 redirects',
      private: 'the address is in an internal network',
      scheme: 'the address is no http or https URL',
      gone: 'the host answered 404',
      none: 'its row has no url',
    };
    for (const [name, reason] of Object.entries(expected)) expect(reasons).toContain(`("${name}"): ${reason}`);
    expect(reasons).toMatch(/\("stalled"\): (?:the time limit is over|no answer)/);
    expect(missing()).toHaveLength(10);
    expect(readFileSync(join(out, fileRecords()[0]?.path ?? ''), 'utf8')).toBe('moved');
    expect(fileRecords()).toHaveLength(1);
    expect(everything().filter(({ path }) => path.endsWith('.tmp'))).toEqual([]);
    expect(reasons).not.toContain('meta-data');
  }, 60_000);
});
