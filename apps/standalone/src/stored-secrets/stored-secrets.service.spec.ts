import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataFolder } from '../data-folder.js';
import { StoredSecretsService } from './stored-secrets.service.js';

describe('StoredSecretsService', () => {
  let path: string;

  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'gatepost-secrets-'));
  });

  afterEach(() => {
    rmSync(path, { recursive: true });
  });

  it('does not forget a secret with which the process still seals', () => {
    const folder = new DataFolder(path);
    const before = folder.secret();
    const service = new StoredSecretsService(folder, false);
    service.swap();

    expect(() => {
      service.forget();
    }).toThrow(/still in use: restart the server/);
    expect(folder.acceptedSecrets()).toEqual([before]);
  });

  it('forgets it after the next start', () => {
    const folder = new DataFolder(path);
    new StoredSecretsService(folder, false).swap();
    new StoredSecretsService(folder, false).forget();

    expect(folder.acceptedSecrets()).toEqual([]);
  });
});
