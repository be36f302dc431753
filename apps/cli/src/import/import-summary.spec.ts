import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ImportSummary } from './import-summary.js';

const FULL_DISK = '/dev/full';
const PLACE = { file: 'f', line: 1, className: '_User', objectId: 'a' };

describe.runIf(existsSync(FULL_DISK))('a report on a full disk', () => {
  it('is missed at the latest where it ends', async () => {
    const summary = new ImportSummary(FULL_DISK);
    await summary.open();
    await summary.refuse(PLACE, { field: 'username', reason: 'is taken' });
    await expect(summary.close()).rejects.toThrow('The report cannot be written');
    await expect(summary.close()).rejects.toThrow('The report cannot be written');
  });
});

describe('a summary', () => {
  it('counts rows that go in without a field as written', async () => {
    const summary = new ImportSummary(undefined);
    await summary.refuse(PLACE, { field: 'username', reason: 'is taken' });
    expect(summary.hasImported).toBe(false);
    await summary.add(PLACE, { outcome: 'imported_without', notes: [{ field: 'email', reason: 'is taken' }] });
    expect(summary.hasImported).toBe(true);
  });
});
