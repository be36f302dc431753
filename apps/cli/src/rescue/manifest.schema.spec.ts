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
  it('are the archives and the scans, without that of users, which lacks passwords', () => {
    const full = { password: 2, sessionToken: 2 };
    expect(pathsWith(archive('2', full), archive('1', full))).toEqual(['1', '2', 'scan/Post.0.jsonl']);
  });

  it('have the scanned users where no archive has any', () => {
    expect(pathsWith(archive('1'))).toEqual(['1', 'scan/_User.0.jsonl', 'scan/Post.0.jsonl']);
    expect(pathsWith()).toEqual(['scan/_User.0.jsonl', 'scan/Post.0.jsonl']);
  });

  it('omit an archive without passwords and sessions beside one that has them', () => {
    const [none, tokens, full] = [
      { password: 0, sessionToken: 0 },
      { password: 0, sessionToken: 2 },
      { password: 2, sessionToken: 2 },
    ];
    expect(pathsWith(archive('1', none))[0]).toBe('1');
    expect(pathsWith(archive('1', none), archive('2', tokens), archive('3', full))).toEqual([
      '3',
      '2',
      'scan/Post.0.jsonl',
    ]);
  });
});
