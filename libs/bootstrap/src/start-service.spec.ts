import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { packageVersion } from './start-service.js';

describe('the version', () => {
  it('is that of the nearest package.json above the folder', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect([packageVersion(), packageVersion(process.cwd())]).toEqual([version, version]);
  });
});
