import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';
import { describe, expect, it } from 'vitest';
import { readPaths, withFolder } from '../../test/exports.js';
import { openSource } from './open-export.js';

const USERS = '{"objectId":"a"}\n';
const ZIP = Buffer.from('504b0304', 'hex');

/** Reads a folder with users and what `fill` adds. */
function read(fill: (folder: string) => void) {
  return withFolder({ '_User.jsonl': USERS }, async (folder) => {
    fill(folder);
    const { isIncomplete, warnings, rows } = await readPaths([folder]);
    expect(rows).toHaveLength(1);
    return { isIncomplete, warnings };
  });
}

/** An archive that holds a compressed file. */
function nest(folder: string): void {
  const cwd = join(folder, 'in');
  mkdirSync(cwd);
  writeFileSync(join(cwd, '_Role.jsonl'), ZIP);
  create({ sync: true, cwd, file: join(folder, 'export.tar') }, ['_Role.jsonl']);
  writeFileSync(join(cwd, '_Role.jsonl'), '');
}

describe('an export is not whole', () => {
  it.each([
    ['an empty archive', 'export.tar.gz', ''],
    ['an empty compressed file', '_Role.jsonl.gz', ''],
    ['a file of xz', '_Role.jsonl.xz', Buffer.from('fd377a585a00', 'hex')],
    ['an archive within a compressed file', '_Role.jsonl.gz', gzipSync(ZIP)],
  ])('with %s', async (_, name, content) => {
    const { isIncomplete, warnings } = await read((folder) => {
      writeFileSync(join(folder, name), content);
    });
    expect([isIncomplete, warnings]).toEqual([true, [expect.stringContaining(name)]]);
  });

  it('with an archive within an archive', async () => {
    expect(await read(nest)).toMatchObject({ isIncomplete: true });
  });

  it('with an archive of another size than its manifest names', async () => {
    const manifest = (bytes: number) =>
      JSON.stringify({ format: 'gatepost-rescue', import: ['a.jsonl'], exports: [{ path: 'a.jsonl', bytes }] });
    await withFolder({ 'a.jsonl': USERS }, async (folder) => {
      for (const bytes of [USERS.length, USERS.length + 1]) {
        writeFileSync(join(folder, 'manifest.json'), manifest(bytes));
        const source = await openSource([folder]);
        expect(source.isIncomplete).toBe(bytes !== USERS.length);
        await source.close();
      }
    });
  });
});

describe('an export is whole', () => {
  it('with links, empty collections and files of other kinds', async () => {
    const { isIncomplete, warnings } = await read((folder) => {
      symlinkSync('_User.jsonl', join(folder, 'link'));
      writeFileSync(join(folder, '_Role.bson'), '');
      writeFileSync(join(folder, 'README.md'), '# Export');
    });
    expect([isIncomplete, warnings.length]).toEqual([false, 2]);
  });
});
