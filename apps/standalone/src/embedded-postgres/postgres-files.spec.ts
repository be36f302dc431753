import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StartError } from '#bootstrap';
import { ensureCluster } from './postgres-files.js';

describe('ensureCluster', () => {
  let home: string;
  let folder: string;
  /** Runs the shell line as initdb; its folder is "$2". */
  const ensureWith = (initdb: string) => {
    const binary = join(home, 'initdb');
    writeFileSync(binary, `#!/bin/sh\n${initdb}\n`, { mode: 0o700 });
    const binaries = { major: '18', initdb: binary, postgres: '', pgCtl: '' };
    return ensureCluster({ binaries, folder, password: 'p', logFile: '', user: undefined, connections: 1 });
  };

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'gatepost-cluster-'));
    folder = join(home, 'postgres');
    mkdirSync(folder);
  });
  afterEach(() => {
    rmSync(home, { recursive: true });
  });

  it('creates a cluster in an empty folder, despite files of an interrupted start beside it', async () => {
    mkdirSync(`${folder}.new`);
    writeFileSync(join(`${folder}.new`, 'PG_VERSION'), 'half');
    await ensureWith('touch "$2/PG_VERSION"');
    expect([readdirSync(folder), readdirSync(home).sort()]).toEqual([['PG_VERSION'], ['initdb', 'postgres']]);
  });

  it('leaves no files behind if initdb fails', async () => {
    await expect(ensureWith('touch "$2/PG_VERSION"; exit 1')).rejects.toThrow(StartError);
    expect([readdirSync(folder), readdirSync(home).sort()]).toEqual([[], ['initdb', 'postgres']]);
  });

  it('changes nothing in a folder with other files', async () => {
    writeFileSync(join(folder, 'pg_wal'), 'precious');
    await expect(ensureWith('exit 1')).rejects.toThrow(/not empty, but has no PG_VERSION/);
    expect(readdirSync(folder)).toEqual(['pg_wal']);
  });

  it('uses an existing cluster unchanged', async () => {
    writeFileSync(join(folder, 'PG_VERSION'), '18\n');
    await ensureWith('exit 1');
    expect(readdirSync(folder)).toEqual(['PG_VERSION']);
  });

  it('changes nothing in a cluster of another version', async () => {
    writeFileSync(join(folder, 'PG_VERSION'), '17\n');
    await expect(ensureWith('exit 1')).rejects.toThrow(/one of PostgreSQL 17, and this version .* has PostgreSQL 18:/);
    expect(readdirSync(folder)).toEqual(['PG_VERSION']);
  });

  it('reports a folder that cannot be read', async () => {
    rmSync(folder, { recursive: true });
    await expect(ensureWith('exit 1')).rejects.toThrow(/cannot be read: ENOENT/);
  });
});
