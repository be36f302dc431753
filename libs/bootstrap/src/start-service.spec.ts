import { EventEmitter, once } from 'node:events';
import fs, { readFileSync } from 'node:fs';
import {
  type BeforeApplicationShutdown,
  Controller,
  Get,
  Logger,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Readiness, UnfitError } from '#observability';
import { FakeTransport, serveOver } from '#testing';
import { packageVersion, type RunningService, serviceEnvironment, startService } from './start-service.js';

/** The errors of the part's check, one for each call; the last one stays. */
let failures: (Error | undefined)[];

@Module({})
class Part {
  constructor(readiness: Readiness) {
    readiness.registerFitness('part', () => {
      const [failure] = failures.length > 1 ? failures.splice(0, 1) : failures;
      if (failure !== undefined) throw failure;
    });
  }
}

describe('a process that starts', { timeout: 20_000 }, () => {
  const unfit = new UnfitError('not migrated');
  const unknown = new Error('not connected');
  let service: RunningService;
  let receivers: number;

  const start = async (...first: (Error | undefined)[]) => {
    [failures, receivers] = [first, 0];
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
  };
  afterEach(() => service.stop());

  it.each([
    // A process whose fitness is unknown waits five seconds before it listens, so the first check passes.
    ['unfit, says so, and receives no requests and events until it is fit', unfit, [unfit]],
    ['of unknown fitness, says so, and receives none until it is fit', unknown, [undefined, unknown]],
  ])('%s', async (_, { message }, first) => {
    await start(...first);
    const problems = async () => {
      const response = await fetch(`http://127.0.0.1:${service.port}/readyz`);
      return [response.status, ((await response.json()) as { problems: string[] }).problems];
    };
    expect(await problems()).toEqual([503, [`part: ${message}`, 'receivers: not started']]);
    expect(receivers).toBe(0);
    failures = [undefined];
    // A server that is away is no reason.
    service.app.get(Readiness).register('other', () => Promise.reject(unknown));
    await expect.poll(() => receivers, { timeout: 10_000 }).toBe(1);
    await expect.poll(problems).toEqual([503, ['other: not connected']]);
  });

  it('unfit stops without having received any', async () => {
    await start(unfit);
    await service.stop();
    expect(receivers).toBe(0);
  });
});

it('logs warnings of Node.js and of libraries as one line each', async () => {
  const { warn } = console;
  const env = serviceEnvironment.parse({ GATEPOST_HOST: '127.0.0.1', GATEPOST_PORT: '0' });
  const written: string[] = [];
  const write = vi.spyOn(fs, 'writeSync').mockImplementation((_, text) => {
    written.push(text);
    return Buffer.byteLength(text);
  });
  const service = await startService({
    name: 'part',
    serves: [],
    imports: [],
    env,
    transport: () => new FakeTransport(),
  });
  process.emitWarning('first line\nsecond line', 'SecurityWarning');
  console.warn('[WARN] %s\n', 'of a library');
  await service.stop();
  write.mockRestore();
  Logger.overrideLogger(false);
  console.warn = warn;
  const warnings = written
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ level }) => level === 'warn');
  expect(warnings.map(({ msg }) => msg)).toEqual(['[WARN] of a library\n', 'SecurityWarning: first line\nsecond line']);
});

/** A part whose shutdown takes as long as the test says, as that of mail, with an endpoint that replies likewise. */
@Controller()
class SlowPart implements BeforeApplicationShutdown, OnApplicationShutdown {
  static readonly steps: string[] = [];
  static readonly gate = new EventEmitter();

  @Get('slow')
  async slow(): Promise<string> {
    SlowPart.steps.push('request');
    await once(SlowPart.gate, 'reply');
    return 'done';
  }

  async beforeApplicationShutdown(): Promise<void> {
    SlowPart.steps.push('shutting down');
    await once(SlowPart.gate, 'shut down');
  }

  onApplicationShutdown(): void {
    SlowPart.steps.push('databases closed');
  }
}

@Module({})
class SlowModule {}

describe('a process with an API that stops', { timeout: 10_000 }, () => {
  it('refuses requests at once, and closes its databases after those in progress', async () => {
    const { steps, gate } = SlowPart;
    const service = await serveOver(new FakeTransport(), {
      name: 'part',
      serves: [],
      imports: [{ module: SlowModule, controllers: [SlowPart] }],
      http: new FastifyAdapter(),
    });
    const url = `http://127.0.0.1:${service.port}/slow`;
    const reply = fetch(url).then((response) => response.text());
    await expect.poll(() => steps).toEqual(['request']);
    const stopped = service.stop();
    await expect.poll(() => steps).toEqual(['request', 'shutting down']);
    await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    gate.emit('shut down');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(steps).toEqual(['request', 'shutting down']);
    gate.emit('reply');
    expect(await reply).toBe('done');
    await stopped;
    expect(steps.at(-1)).toBe('databases closed');
  });
});

describe('the version', () => {
  it('is that of the nearest package.json above the folder', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect([packageVersion(), packageVersion(process.cwd())]).toEqual([version, version]);
  });
});
