import { readFileSync } from 'node:fs';
import { Module } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Readiness, UnfitError } from '#observability';
import { FakeTransport, serveOver } from '#testing';
import { packageVersion, type RunningService } from './start-service.js';

let isMigrated: boolean;

@Module({})
class Part {
  constructor(readiness: Readiness) {
    readiness.register('part', () => {
      if (!isMigrated) throw new UnfitError('not migrated');
    });
  }
}

describe('a process that is unfit', { timeout: 10_000 }, () => {
  let service: RunningService;
  let receivers: number;

  beforeEach(async () => {
    [isMigrated, receivers] = [false, 0];
    const transport = new FakeTransport();
    const create = transport.createServer.bind(transport);
    transport.createServer = () => {
      const server = create();
      server.listen = (callback) => {
        receivers += 1;
        callback();
      };
      return server;
    };
    service = await serveOver(transport, { name: 'part', serves: ['accounts'], imports: [{ module: Part }] });
  });
  afterEach(() => service.stop());

  it('says so, and receives no requests and events until it is fit', async () => {
    const response = await fetch(`http://127.0.0.1:${service.port}/readyz`);
    expect([response.status, await response.json()]).toMatchObject([503, { problems: ['part: not migrated'] }]);
    expect(receivers).toBe(0);
    isMigrated = true;
    await expect.poll(() => receivers, { timeout: 5_000 }).toBe(1);
  });

  it('stops without having received any', async () => {
    await service.stop();
    expect(receivers).toBe(0);
  });
});

describe('the version', () => {
  it('is that of the nearest package.json above the folder', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect([packageVersion(), packageVersion(process.cwd())]).toEqual([version, version]);
  });
});
