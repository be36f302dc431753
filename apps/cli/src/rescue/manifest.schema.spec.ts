import { describe, expect, it } from 'vitest';
import { type ExportState, importedPaths, newManifest } from './manifest.schema.js';

const scan = { since: null, startedAt: '', lastId: null, isOrdered: true, rows: 1 };

function archive(path: string, users?: { password: number; sessionToken: number }): ExportState {
  const classes = users === undefined ? [] : [{ class: '_User', rows: 2, salt: users.password, ...users }];
  return { kind: 'data', id: path, startedAt: path, fromDate: null, path, classes };
}

function pathsWith(...exports: ExportState[]): string[] {
  const manifest = newManifest('app', 'https://example.com');
  manifest.classes = ['_User', 'Post'].map((name) => ({
    name,
    rows: 1,
    serverRows: 1,
    scans: [{ ...scan, files: [`scan/${name}.0.jsonl`] }],
  }));
  return importedPaths({ ...manifest, exports });
}

describe('the files that an import reads', () => {
  it('are the archives and the scans, also that of users', () => {
    const full = { password: 2, sessionToken: 2 };
    const scans = ['scan/_User.0.jsonl', 'scan/Post.0.jsonl'];
    expect(pathsWith(archive('2', full), archive('1', full))).toEqual(['1', '2', ...scans]);
    expect(pathsWith(archive('1'))).toEqual(['1', ...scans]);
    expect(pathsWith()).toEqual(scans);
  });

  it('begin with archives that have passwords', () => {
    const [none, tokens, full] = [
      { password: 0, sessionToken: 0 },
      { password: 0, sessionToken: 2 },
      { password: 2, sessionToken: 2 },
    ];
    expect(pathsWith(archive('1', none), archive('2', tokens), archive('3', full)).slice(0, 3)).toEqual([
      '3',
      '1',
      '2',
    ]);
  });
});
