import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { serialize } from 'bson';
import { Header, type HeaderData, Parser } from 'tar';
import { describe, expect, it, vi } from 'vitest';
import { ZipFile } from 'yazl';
import { contents, problems, readFiles, readInput, readPaths, withFolder } from '../../test/exports.js';
import type { RowOrder } from './export.types.js';
import { openExport } from './open-export.js';

const HEADER = '#filetype:JSON-streaming {"type":"Class","class":"_User"}';
const USERS = `${HEADER}\n{"objectId":"a"}\n{"objectId":"b"}\n`;
const USER_ROWS = [{ objectId: 'a' }, { objectId: 'b' }];
const MIB = 1024 * 1024;
const SECONDS = 1_000;

interface TarFile extends Partial<HeaderData> {
  readonly path: string;
  readonly content?: string | Uint8Array;
}

function tar(files: readonly TarFile[], end = Buffer.alloc(1024)): Buffer {
  return Buffer.concat([...files.map(tarFile), end]);
}

function tarFile({ content = '', ...data }: TarFile): Buffer {
  const bytes = Buffer.from(content);
  const block = Buffer.alloc(512);
  new Header({ mode: 0o644, type: 'File', size: bytes.length, ...data }).encode(block);
  return Buffer.concat([block, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

async function zip(
  files: Readonly<Record<string, string | Buffer>>,
  options: { forceZip64Format?: boolean; mode?: number } = {},
): Promise<Buffer> {
  const made = new ZipFile();
  for (const [name, content] of Object.entries(files)) made.addBuffer(Buffer.from(content), name, options);
  made.end({ forceZip64Format: options.forceZip64Format ?? false, comment: '' });
  return buffer(made.outputStream as Readable);
}

/** Changes the bytes at every place of the text. */
function replaced(bytes: Buffer, from: string | Buffer, to: Buffer, offset = 0): Buffer {
  const changed = Buffer.from(bytes);
  for (let at = changed.indexOf(from); at !== -1; at = changed.indexOf(from, at + 1)) to.copy(changed, at + offset);
  return changed;
}

describe('inputs', () => {
  const both = tar([
    { path: './', type: 'Directory' },
    { path: './_User.0.jsonl', content: USERS },
    { path: './README.md', content: '# Export' },
    { path: './_Role.bson.gz', content: gzipSync(serialize({ name: 'admin' })) },
  ]);

  it.each([
    ['tar', both],
    ['tar.gz', gzipSync(both)],
  ])('are %s by content', async (_, bytes) => {
    const expected = [{ name: 'admin' }, ...USER_ROWS];
    const fromFile = await readFiles({ 'export.bin': bytes });
    const fromInput = await readInput(bytes);
    expect(contents(fromFile)).toEqual(expected);
    expect(contents(fromInput)).toEqual(expected);
    expect(fromInput.parts).toEqual(['./_Role.bson.gz _Role rows', './_User.0.jsonl _User rows', './README.md  other']);
    expect(fromFile.parts[1]).toBe('export.bin/./_User.0.jsonl _User rows');
    expect([...fromFile.warnings, ...problems(fromFile)]).toEqual([]);
  });

  it('are an archive of the system’s tar', async () => {
    await withFolder(
      { '_User.0.jsonl': USERS, [`${'long'.repeat(40)}/_Role.0.jsonl`]: '{"name":"admin"}' },
      async (folder) => {
        const bytes = execFileSync('tar', ['-cz', '-C', folder, '.']);
        expect(contents(await readInput(bytes))).toEqual([...USER_ROWS, { name: 'admin' }]);
      },
    );
  });

  it.each([false, true])('are zip, zip64: %s', async (forceZip64Format) => {
    const bytes = await zip({ '_User.0.jsonl': USERS, 'a/_Role.json': '[{"name":"admin"}]' }, { forceZip64Format });
    const fromInput = await readInput(bytes);
    expect(contents(fromInput)).toEqual([...USER_ROWS, { name: 'admin' }]);
    expect(contents(await readFiles({ 'x/export': bytes }))).toHaveLength(3);
    expect(problems(fromInput)).toEqual([]);
  });

  it('are gzip of one file', async () => {
    expect(contents(await readFiles({ '_User.0.jsonl.gz': gzipSync(USERS) }))).toEqual(USER_ROWS);
    expect(contents(await readInput(gzipSync(USERS)))).toEqual(USER_ROWS);
    const members = Buffer.concat([gzipSync(USERS), gzipSync('{"objectId":"c"}')]);
    expect(contents(await readFiles({ '_User.gz': members }))).toHaveLength(3);
  });

  it('are several paths, in their order', async () => {
    await withFolder({ '2/_User.jsonl': '{"n":2}', '1.jsonl': USERS }, async (folder) => {
      const paths = [path.join(folder, '2'), path.join(folder, '1.jsonl')];
      const read = await readPaths(paths);
      expect(read.parts).toEqual([`${paths[0]}/_User.jsonl _User rows`, `${paths[1]} _User rows`]);
      expect(contents(read)).toEqual([{ n: 2 }, ...USER_ROWS]);
    });
  });

  it('leave out what desktops add', async () => {
    const files = { '._User.0.jsonl': 'x', '__MACOSX/_User.jsonl': 'x', '.DS_Store': 'x', '_User.jsonl': USERS };
    expect((await readFiles(files)).parts).toEqual(['_User.jsonl _User rows']);
  });

  it('are refused in plain English where nothing can be read', async () => {
    const opened = (paths: string[]) => openExport(paths, Readable.from([]));
    await expect(opened(['/nonexistent/x'])).rejects.toThrow(
      '"/nonexistent/x" cannot be read (ENOENT). Check the path and its permissions.',
    );
    await expect(opened(['-'])).rejects.toThrow('No file of an export was found in standard input.');
    await expect(opened(['/dev/null'])).rejects.toThrow('is neither a file nor a folder');
    await expect(readFiles({ 'x.txt': 'hello' })).rejects.toThrow('Pass the archive of the export, or a folder');
    await expect(readFiles({ 'x.xz': Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]) })).rejects.toThrow(
      '"x.xz" is compressed by xz',
    );
  });

  it('count their bytes as rows are read, and can be read again', async () => {
    await withFolder({ 'a.tgz': gzipSync(both) }, async (folder) => {
      const opened = await openExport([folder], Readable.from([]));
      const part = opened.parts.find(({ className }) => className === '_User')!;
      for (let times = 1; times <= 2; times++) {
        let count = 0;
        for await (const row of opened.rows(part)) count += 'row' in row ? 1 : 0;
        expect([count, opened.bytesRead]).toEqual([2, part.bytes * times]);
      }
      for await (const row of opened.rows(part)) if (row.line === 2) break;
      expect(opened.bytesTotal).toBeGreaterThan(part.bytes);
      await opened.close();
    });
  });

  it('close every file, also where a caller stops early', async () => {
    const files = {
      'a.tgz': gzipSync(tar([{ path: '_User.jsonl.gz', content: gzipSync(USERS.repeat(10_000)) }])),
      'b.zip': await zip({ '_User.jsonl': USERS }),
    };
    await withFolder(files, async (folder) => {
      const opened = await openExport([folder], Readable.from([]));
      for (const part of opened.parts) for await (const row of opened.rows(part)) if (row.line > 1) break;
      await opened.close();
      const isOpen = () => openFiles().filter((name) => name.startsWith(folder)).length > 0;
      await expect.poll(isOpen).toBe(false);
    });
  });

  it('leave no file of standard input behind', async () => {
    await withFolder({}, async (folder) => {
      await withTemporaryFolder(folder, async () => {
        const opened = await openExport(['-'], Readable.from([Buffer.from(USERS)]));
        expect(readdirSync(folder)).toEqual([]);
        const rows = [];
        for await (const row of opened.rows(opened.parts[0]!)) rows.push(row);
        expect(rows).toHaveLength(2);
        expect(openFiles().filter((name) => name.startsWith(folder))).toHaveLength(1);
        await opened.close();
        expect(openFiles().filter((name) => name.startsWith(folder))).toEqual([]);
      });
      const missing = path.join(folder, 'missing');
      const opening = () => openExport(['-'], Readable.from([Buffer.from(USERS)]));
      await withTemporaryFolder(missing, () =>
        expect(opening()).rejects.toThrow(`cannot be kept in ${missing} (ENOENT)`),
      );
    });
  });
});

/** Paths of the open files of this process, removed ones included. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      return [];
    }
  });
}

async function withTemporaryFolder(folder: string, work: () => Promise<void>): Promise<void> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    await work();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}

describe('several parts', () => {
  const row = (className: string, id: string) =>
    `#filetype:JSON-streaming {"type":"Class","class":"${className}"}\n{"objectId":"${id}"}\n`;
  // Numbers by value are another order than that of the archive.
  const files = ['_User.10', '_Role.0', '_User.9', 'Post.0', '_User.11'].map((name) => ({
    path: `${name}.jsonl`,
    content: row(name.split('.')[0] ?? '', name),
  }));

  /** The ids of the rows of all parts, and how many passes over the archive began: each reads its first file's header. */
  const read = (bytes: Buffer, order?: RowOrder) =>
    withFolder({ 'export.tar': bytes }, async (folder) => {
      const opened = await openExport([path.join(folder, 'export.tar')], Readable.from([]));
      const began = vi.spyOn(Parser.prototype, 'write');
      const rows: unknown[] = [];
      for await (const each of opened.rowsOf(opened.parts, order))
        rows.push('row' in each ? each.row['objectId'] : `${each.file}: ${each.problem}`);
      const passes = new Set(began.mock.contexts).size;
      began.mockRestore();
      await opened.close();
      return { rows, passes };
    });

  it('of a tar archive are read in one pass where any order will do', async () => {
    const all = { rows: ['_User.10', '_Role.0', '_User.9', 'Post.0', '_User.11'], passes: 1 };
    expect(await read(tar(files), { inAnyOrder: true })).toEqual(all);
  });

  it('keep the order of their numbers, in as few passes as it allows', async () => {
    const rows = ['_Role.0', '_User.9', '_User.10', '_User.11', 'Post.0'];
    expect(await read(tar(files))).toMatchObject({ rows, passes: 3 });
  });

  it('end with a problem each where the archive ends within the first of them', async () => {
    const cut = tar(files).subarray(0, 512 * 3 + 100);
    const { rows } = await read(cut, { inAnyOrder: true });
    expect(rows).toEqual(['_User.10', expect.stringContaining('truncated')]);
  });
});

describe('damage', () => {
  const many = Array.from({ length: 5_000 }, () => JSON.stringify({ objectId: randomBytes(12).toString('hex') }));
  const text = `${HEADER}\n${many.join('\n')}\n`;

  it.each([
    ['gzip file', '_User.gz', gzipSync(text)],
    ['tar.gz', 'a.tgz', gzipSync(tar([{ path: '_User.jsonl', content: text }]))],
    ['tar', 'a.tar', tar([{ path: '_User.jsonl', content: text }])],
    ['gzip within a tar', 'a.tar', tar([{ path: '_User.gz', content: gzipSync(text).subarray(0, 40_000) }])],
  ])('at the end of a %s leaves the rows before it', async (_, name, bytes) => {
    const cut =
      name === 'a.tar' ? bytes.subarray(0, Math.min(bytes.length, 60_000)) : bytes.subarray(0, bytes.length / 2);
    const read = await readFiles({ [name]: cut });
    expect(contents(read).length).toBeGreaterThan(1_000);
    expect(contents(read)).toEqual(many.slice(0, contents(read).length).map((row) => JSON.parse(row) as unknown));
    expect(problems(read)).toEqual([
      expect.stringMatching(/^\d+: The (?:compressed data ends|archive ends).*truncated/),
    ]);
  });

  it('in the middle of a gzip file leaves the rows before it', async () => {
    const long = `${text}${text}${text}${text}`;
    const bytes = gzipSync(long);
    randomBytes(1_000).copy(bytes, Math.floor(bytes.length * 0.9));
    const read = await readFiles({ '_User.gz': bytes });
    expect(contents(read).length).toBeGreaterThan(5_000);
    expect(problems(read).at(-1)).toMatch(/The compressed data is damaged|The row is not/);
  });

  it('at the begin of an archive is an error', async () => {
    const bytes = gzipSync(text);
    bytes.fill(0xff, 10, 100);
    await expect(readFiles({ 'a.tar.gz': bytes })).rejects.toThrow('"a.tar.gz": The compressed data is damaged.');
    await expect(readFiles({ 'a.zip': (await zip({ x: text })).subarray(0, 500) })).rejects.toThrow(
      'The archive is damaged or truncated.',
    );
  });

  it('in a zip is reported with the file', async () => {
    const bytes = await zip({ '_User.jsonl': text, '_Role.jsonl': '{"name":"admin"}' });
    randomBytes(100).copy(bytes, 20_000);
    const read = await readFiles({ 'a.zip': bytes });
    expect(contents(read)).toContainEqual({ name: 'admin' });
    expect(problems(read).at(-1)).toMatch(/The archive is damaged|The checksum of the file is wrong/);
  });

  it('of a checksum in a zip is reported after the rows', async () => {
    const stored = new ZipFile();
    stored.addBuffer(Buffer.from(USERS), '_User.jsonl', { compress: false });
    stored.end();
    const bytes = replaced(
      await buffer(stored.outputStream as Readable),
      '"objectId":"a"',
      Buffer.from('"objectId":"x"'),
    );
    const read = await readFiles({ 'a.zip': bytes });
    expect(problems(read)).toEqual([expect.stringContaining('The checksum of the file is wrong.')]);
  });

  it('of a header of tar skips to the next file', async () => {
    const bytes = tar([
      { path: 'a.jsonl', content: '{}' },
      { path: '_Role.jsonl', content: '{}' },
      { path: '_User.jsonl', content: USERS },
    ]);
    bytes[1024 + 20] = 0x41;
    const read = await readInput(bytes);
    expect(read.parts).toEqual(['_User.jsonl _User rows', 'a.jsonl a rows']);
    expect(read.warnings[0]).toContain('A header of the archive is damaged');
  });
});

describe('hostile archives', () => {
  const good = { path: '_User.jsonl', content: USERS };

  it('are not followed out of the export', async () => {
    const bytes = tar([
      { path: '../../_User.jsonl', content: USERS },
      { path: '/etc/_User.jsonl', content: USERS },
      { path: 'a\\..\\..\\_User.jsonl', content: USERS },
      { path: 'C:\\_User.jsonl', content: USERS },
      { path: '_Role.jsonl', type: 'SymbolicLink', linkpath: '/etc/passwd' },
      { path: '_File.jsonl', type: 'Link', linkpath: '_User.jsonl' },
      { path: '_Installation.jsonl', type: 'CharacterDevice' },
      { path: 'pipe.jsonl', type: 'FIFO' },
      good,
    ]);
    const read = await readInput(gzipSync(bytes));
    expect(read.parts).toEqual(['_User.jsonl _User rows']);
    expect(read.warnings).toEqual([
      '"../../_User.jsonl" has a path with ".." and is not read.',
      '"/etc/_User.jsonl" has an absolute path and is not read.',
      '"a\\\\..\\\\..\\\\_User.jsonl" has a path with ".." and is not read.',
      '"C:\\\\_User.jsonl" has an absolute path and is not read.',
      '"_Role.jsonl" is a link and is not read.',
      '"_File.jsonl" is a link and is not read.',
      '"_Installation.jsonl" is no regular file and is not read.',
      '"pipe.jsonl" is no regular file and is not read.',
    ]);
  });

  it('have no power in a zip either', async () => {
    const named = replaced(await zip({ 'xx/_User.jsonl': USERS }), 'xx/', Buffer.from('../'));
    await expect(readInput(named)).rejects.toThrow('"../_User.jsonl" has a path with ".." and is not read.');
    await expect(readInput(await zip({ '_User.jsonl': '/etc/passwd' }, { mode: 0o120777 }))).rejects.toThrow(
      'is a link',
    );
    const plain = await zip({ '_User.jsonl': USERS });
    const encrypted = replaced(plain, Buffer.from('PK\x01\x02'), Buffer.from([1]), 8);
    await expect(readInput(encrypted)).rejects.toThrow('"_User.jsonl" is encrypted and is not read.');
    const lzma = replaced(plain, Buffer.from('PK\x01\x02'), Buffer.from([14, 0]), 10);
    await expect(readInput(lzma)).rejects.toThrow('is compressed by method 14, not by deflate, and is not read.');
  });

  it('cannot lead out of a folder by links', async () => {
    await withFolder({ 'in/_User.jsonl': USERS, 'out/_Role.jsonl': '{}' }, async (folder) => {
      symlinkSync('../out', path.join(folder, 'in/more'));
      symlinkSync('../out/_Role.jsonl', path.join(folder, 'in/_Role.jsonl'));
      symlinkSync('.', path.join(folder, 'in/loop'));
      const read = await readPaths([path.join(folder, 'in')]);
      expect(read.parts).toEqual(['_User.jsonl _User rows']);
      expect([...read.warnings].sort()).toEqual(
        ['_Role.jsonl', 'loop', 'more'].map((name) => `"${name}" is a link and is not read.`),
      );
      symlinkSync('in', path.join(folder, 'named'));
      expect((await readPaths([path.join(folder, 'named')])).parts).toEqual(['_User.jsonl _User rows']);
    });
  });

  it('do not get their control characters into names and warnings', async () => {
    const read = await readInput(
      tar([
        { path: '\u{1b}[2J_User.jsonl', content: USERS },
        { path: '\u{1b}[2J', type: 'FIFO' },
      ]),
    );
    const texts = [...read.parts, ...read.warnings, ...read.rows.map(({ file }) => file)];
    expect(texts.join()).not.toContain('\u{1b}');
    expect(texts).toHaveLength(4);
  });

  it('count the last of files with one name', async () => {
    const read = await readInput(
      tar([
        { path: '_User.jsonl', content: '{"n":1}' },
        { path: '_User.jsonl', content: '{"n":2}' },
      ]),
    );
    expect(contents(read)).toEqual([{ n: 2 }]);
    expect(read.warnings).toEqual(['The archive holds "_User.jsonl" more than once. Only the last is read.']);
  });

  it('are not opened within archives', async () => {
    const inner = tar([good]);
    const read = await readInput(
      tar([
        { path: 'a.tar', content: inner },
        { path: 'a.tgz', content: gzipSync(inner) },
        { path: 'a.gz', content: gzipSync(gzipSync(USERS)) },
        good,
      ]),
    );
    expect(read.parts).toEqual(['_User.jsonl _User rows']);
    expect(read.warnings).toEqual([
      '"a.gz" is compressed twice and is not read. Unpack it first.',
      '"a.tar" is an archive within another file and is not read. Unpack it first.',
      '"a.tgz" is an archive within another file and is not read. Unpack it first.',
    ]);
  });

  it(
    'end with a bomb, after rows that an honest file may hold',
    async () => {
      // Deflate blocks of 64 MiB zeros each, without the last one's end mark: 1.5 GiB from 1.5 MB.
      const block = deflateBlock(64 * MIB);
      const bomb = Buffer.concat([
        Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
        ...Array.from({ length: 24 }, () => block),
      ]);
      const read = await readFiles({ '_User.jsonl.gz': bomb, '_Role.jsonl': '{"name":"admin"}' });
      expect(contents(read)).toEqual([{ name: 'admin' }]);
      expect(problems(read).at(-1)).toContain('grows to over 200 times its size');
    },
    60 * SECONDS,
  );

  it('cannot share bytes between files of a zip', async () => {
    const bytes = await zip({ '_User.jsonl': USERS.repeat(1_000) });
    const at = bytes.indexOf('PK\x01\x02');
    const end = bytes.indexOf('PK\x05\x06');
    const directory = bytes.subarray(at, end);
    const tail = Buffer.from(bytes.subarray(end));
    tail.writeUInt16LE(200, 8);
    tail.writeUInt16LE(200, 10);
    tail.writeUInt32LE(directory.length * 200, 12);
    const overlapping = Buffer.concat([bytes.subarray(0, at), ...Array.from({ length: 200 }, () => directory), tail]);
    await expect(readInput(overlapping)).rejects.toThrow('The files of the archive overlap.');
  });

  it(
    'have at most 50,000 files, and 101 warnings',
    async () => {
      const empty = tarFile({ path: 'x', type: 'FIFO' });
      const bytes = gzipSync(Buffer.concat([tarFile(good), ...Array.from({ length: 60_000 }, () => empty)]));
      const read = await readFiles({ 'a.tgz': bytes });
      expect(contents(read)).toEqual(USER_ROWS);
      expect(read.warnings).toHaveLength(101);
      expect(read.warnings.at(-1)).toMatch(/^49\d{3} further warnings are not shown\.$/);
    },
    30 * SECONDS,
  );

  it('may lie about sizes', async () => {
    const huge = tar([{ ...good, size: 2 ** 40 }], Buffer.alloc(0));
    expect(problems(await readInput(huge)).at(-1)).toContain('The archive ends within this file');
    const bytes = await zip({ '_User.jsonl': USERS });
    const lying = replaced(bytes, Buffer.from('PK\x01\x02'), Buffer.from([5, 0, 0, 0]), 24);
    expect(problems(await readInput(lying))).toEqual([expect.stringContaining('The archive is damaged')]);
  });

  it(
    'survive any change of their bytes',
    async () => {
      const archives = [tar([good]), gzipSync(tar([good])), await zip({ '_User.jsonl': USERS }), gzipSync(USERS)];
      let ends = 0;
      for (let run = 0; run < 200; run++) {
        const bytes = Buffer.from(archives[run % 4]!);
        for (let changes = 0; changes < 5; changes++)
          bytes[randomBytes(4).readUInt32LE() % Math.min(bytes.length, 700)] = randomBytes(1)[0]!;
        const end = await readInput(bytes).then(
          () => 'read',
          (error: unknown) => (error as Error).name,
        );
        expect(['read', 'StartError']).toContain(end);
        ends++;
      }
      expect(ends).toBe(200);
    },
    30 * SECONDS,
  );
});

/** One deflate block of zeros that more blocks may follow. */
function deflateBlock(bytes: number): Buffer {
  return deflateRawSync(Buffer.alloc(bytes), { finishFlush: 3 });
}

describe('standard input', () => {
  it('is refused where it breaks off', async () => {
    const input = new Readable({ read: () => undefined });
    const opened = openExport(['-'], input);
    input.push(USERS);
    input.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    await expect(opened).rejects.toThrow('(ECONNRESET)');
  });
});
