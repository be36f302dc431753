import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyExports } from './export-archive.js';
import { RefusedError, RequestError } from './leancloud-api.js';
import type { ExportState } from './manifest.schema.js';
import type { RescueContext } from './rescue-context.js';
import { RescueFolder } from './rescue-folder.js';

const [EARLIER, NOW] = ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z'];
const OPTIONS = { since: undefined, pollS: 1, waitMinutes: 0 };
const PART = `export/data-${EARLIER.slice(0, 10)}-task.part`;

let path: string;
let folder: RescueFolder;

beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'gatepost-rescue-'));
  folder = await RescueFolder.open(path, 'app', 'https://api.example.com');
});
afterEach(async () => {
  await folder.close();
  rmSync(path, { recursive: true });
});

/** Runs the exports against an API that fails. @returns the tasks in the manifest */
async function tasksAfter(error: Error): Promise<(string | null)[]> {
  const fail = () => Promise.reject(error);
  const api = { get: fail, post: fail } as unknown as RescueContext['api'];
  const { manifest } = folder;
  const progress = { say: () => undefined, phase: () => undefined } as unknown as RescueContext['progress'];
  const parts = { api, folder, manifest, progress, problems: new Map(), concurrency: 1 };
  await copyExports({ ...parts, startedAt: NOW }, OPTIONS).catch(() => undefined);
  return manifest.exports.map(({ id }) => id);
}

describe.each([EARLIER, NOW])('an export that was asked for at %s', (startedAt) => {
  const task: ExportState = { kind: 'data', id: 'task', startedAt, fromDate: null };
  const part = PART.replace(EARLIER.slice(0, 10), startedAt.slice(0, 10));
  beforeEach(() => {
    folder.manifest.exports.push(task);
    writeFileSync(folder.resolve(part), 'the first half');
  });

  it.each([
    ['is unavailable', new RequestError('503', 503)],
    ['has too many requests', new RequestError('429', 429)],
    ['does not answer', new RequestError('no answer')],
    ['refuses the key', new RefusedError('401', 401)],
  ])('stays with its partial download where LeanCloud %s', async (_, error) => {
    expect(await tasksAfter(error)).toEqual(['task']);
    expect(readdirSync(folder.resolve('export'))).toEqual([part.replace('export/', '')]);
  });

  it('is dropped where LeanCloud no longer has it', async () => {
    expect(await tasksAfter(new RequestError('404', 404))).toEqual([]);
    expect(readdirSync(folder.resolve('export'))).toEqual([]);
  });
});

describe('an archive of the console', () => {
  it('is taken up anew where a newer one stands in its place', async () => {
    const file = '_User.0.jsonl';
    for (const rows of [1, 2]) {
      writeFileSync(join(path, file), '{"objectId":"a"}\n'.repeat(rows));
      create({ sync: true, gzip: true, cwd: path, file: folder.resolve('export/console.tar.gz') }, [file]);
      await tasksAfter(new RequestError('no answer'));
      expect(readdirSync(folder.resolve('export'))).toEqual(['console.tar.gz']);
      expect(folder.manifest.exports).toMatchObject([{ kind: 'console', classes: [{ class: '_User', rows }] }]);
    }
  });
});
