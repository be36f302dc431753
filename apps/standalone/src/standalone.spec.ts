import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as contracts from '#contracts';
import { contractedEvents, contractedRpcs, NO_DATABASE_URL, START_TIMEOUT_MS, TestService } from '#testing';
import { DataFolder } from './data-folder/data-folder.js';
import { embeddedPostgres, OPERATOR_CONTRACTS, standaloneEnvironment, standaloneService } from './services.js';

const SERVICES = ['gateway', 'accounts', 'auth-linking', 'mail', 'push-delivery'];

describe('the standalone server, composed as at its start', () => {
  const path = mkdtempSync(join(tmpdir(), 'gatepost-standalone-'));
  let service: TestService;

  beforeAll(async () => {
    const env = standaloneEnvironment.parse({ GATEPOST_DATA_DIR: path });
    service = await TestService.start(standaloneService(env, new DataFolder(path), NO_DATABASE_URL));
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await service.stop();
    rmSync(path, { recursive: true });
  });

  it('handles each RPC of every service once, and no other', () => {
    // One process has one report of itself.
    const ofServices = SERVICES.flatMap(contractedRpcs).filter((pattern) => !pattern.endsWith('.diagnose'));
    expect(service.handledRpcs).toEqual([...ofServices, ...contractedRpcs('standalone')].sort());
  });

  it('handles each event that names one of the services as a subscriber once, and no other', () => {
    expect(service.handledEvents).toEqual(SERVICES.flatMap(contractedEvents).sort());
  });

  it('reports each part that it needs while no server is available', async () => {
    expect(await service.unavailableParts()).toEqual([
      'accounts',
      'disk',
      'first application',
      'message broker',
      'postgresql (accounts)',
      'postgresql (auth_linking)',
      'postgresql (mail)',
      'postgresql (push)',
      'secret',
      'secret (auth_linking)',
      'secret (mail)',
      'secret (push)',
      'secret (text message providers)',
    ]);
  });
});

describe('the operator socket', () => {
  it('passes on each request of the command line', () => {
    const folder = join(import.meta.dirname, '../../cli/src');
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const text = sources.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
    const used = new Set(Array.from(text.matchAll(/\b(\w+Rpc)\.\w+/g), ([, name]) => name as keyof typeof contracts));
    expect(used.size).toBeGreaterThan(10);
    const passed = OPERATOR_CONTRACTS.map(({ pattern }) => pattern);
    for (const name of used)
      for (const { pattern } of Object.values(contracts[name] as Record<string, contracts.RpcContract>))
        expect(passed, name).toContain(pattern);
  });
});

it('a start on a full disk says so, before PostgreSQL ends for lack of room', async () => {
  const folder = new DataFolder(mkdtempSync(join(tmpdir(), 'gatepost-full-')));
  mkdirSync(folder.file('postgres'));
  vi.spyOn(folder, 'assertRoom').mockRejectedValue(new Error('3 MiB are free'));
  const env = standaloneEnvironment.parse({ GATEPOST_DATA_DIR: folder.path });
  await expect(embeddedPostgres(folder, env)).rejects.toThrow('PostgreSQL lacks room: 3 MiB are free.');
  rmSync(folder.path, { recursive: true });
});
