import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataFolder } from './data-folder.js';
import { StoredSecretsController } from './data-folder.module.js';

describe('StoredSecretsController', () => {
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
    const controller = new StoredSecretsController(folder, false);
    void controller.swap({});

    expect(() => {
      void controller.forget({});
    }).toThrow(/still in use: restart the server/);
    expect(folder.acceptedSecrets()).toEqual([before]);
  });

  it.runIf(existsSync('/dev/full')).each(['accepted-secrets', 'secret'])(
    'changes nothing where the disk is full (%s)',
    (name) => {
      const folder = new DataFolder(path);
      const before = folder.secret();
      const controller = new StoredSecretsController(folder, false);
      symlinkSync('/dev/full', folder.file(`${name}.${process.pid}`));

      expect(() => {
        void controller.swap({});
      }).toThrow(/could not be replaced, check the data folder: ENOSPC/);
      expect([folder.secret(), folder.acceptedSecrets(), readdirSync(path)]).toEqual([before, [], ['secret']]);
      void controller.swap({});
      expect(folder.acceptedSecrets()).toEqual([before]);
    },
  );

  it('deletes it after the next start', () => {
    const folder = new DataFolder(path);
    void new StoredSecretsController(folder, false).swap({});
    void new StoredSecretsController(folder, false).forget({});

    expect(folder.acceptedSecrets()).toEqual([]);
  });
});
