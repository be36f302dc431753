import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataFolder, storedSecret } from './data-folder.js';

describe('storedSecret', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatepost-secret-'));
    file = join(folder, 'secret');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('is generated once, readable by its owner only', () => {
    const secret = storedSecret(file);
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(storedSecret(file)).toBe(secret);
    expect([readdirSync(folder), statSync(file).mode & 0o777]).toEqual([['secret'], 0o600]);
  });

  it.each(['', 'only-the-beginn'])('a file with the content %j is neither used nor replaced', (content) => {
    writeFileSync(file, content);
    expect(() => storedSecret(file)).toThrow(/is truncated/);
    expect(readFileSync(file, 'utf8')).toBe(content);
  });

  it('reports in one line that the file cannot be created', () => {
    expect(() => storedSecret(join(folder, 'missing', 'secret'))).toThrow(/could not be created: ENOENT/);
  });
});

it('a data folder that is a file is called so', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'gatepost-file-')), 'data');
  writeFileSync(file, '');
  expect(() => new DataFolder(file)).toThrow(`${file} cannot be used: ENOTDIR.`);
  rmSync(dirname(file), { recursive: true });
});

describe('the room on the disk', () => {
  it('is a problem that readiness reports before PostgreSQL ends for lack of it', async () => {
    const folder = new DataFolder(mkdtempSync(join(tmpdir(), 'gatepost-room-')));
    mkdirSync(folder.file('postgres'));
    await expect(folder.assertRoom(0)).resolves.toBeUndefined();
    await expect(folder.assertRoom(Infinity)).rejects.toThrow(
      `MiB are free for ${folder.file('postgres')}: free Infinity MiB`,
    );
    rmSync(folder.path, { recursive: true });
  });
});
