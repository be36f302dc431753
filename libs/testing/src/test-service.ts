import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  connect,
  type RunningService,
  serve,
  serviceEnvironment,
  serviceModule,
  type ServiceOptions,
} from '#bootstrap';
import * as contracts from '#contracts';
import { appError } from '#errors';
import { Readiness } from '#observability';
import { Redis } from '#redis';
import { FakeTransport } from './fake-transport.js';

/** The address of a PostgreSQL that refuses every connection. */
export const NO_DATABASE_URL = 'postgres://127.0.0.1:1/none';

/** Timeout for `TestService.start`, in milliseconds. It composes up to 40 Nest modules, on cores that other test files share. */
export const START_TIMEOUT_MS = 30_000;

type TestServiceOptions = Pick<ServiceOptions, 'name' | 'serves' | 'imports' | 'http' | 'prepare'>;

/** A Redis that is never connected. */
const noRedis: Pick<Redis, 'close' | 'inFlight' | 'isConnected' | 'memory' | 'ping' | 'run' | 'servers'> = {
  inFlight: 0,
  isConnected: false,
  close: () => undefined,
  memory: () => Promise.reject(appError('SERVICE_UNAVAILABLE')),
  ping: () => Promise.reject(appError('SERVICE_UNAVAILABLE')),
  run: () => Promise.reject(appError('SERVICE_UNAVAILABLE')),
  servers: () => new Map(),
};

/** A service that is composed and started as by `startService`, but listens on no port and reaches no server. */
export class TestService {
  private constructor(
    private readonly app: NestFastifyApplication,
    private readonly transport: FakeTransport,
  ) {}

  static async start(options: TestServiceOptions): Promise<TestService> {
    const transport = new FakeTransport();
    const { app, service } = await createApp(options, transport);
    connect(app, service);
    await app.init();
    await app.startAllMicroservices();
    return new TestService(app, transport);
  }

  /** The pattern of each handler of RPCs, sorted. */
  get handledRpcs(): string[] {
    return this.#handled(false);
  }

  /** The pattern of each handler of events, sorted. */
  get handledEvents(): string[] {
    return this.#handled(true);
  }

  /** The parts that readiness reports without any server, sorted. */
  async unavailableParts(): Promise<string[]> {
    this.transport.isConnected = false;
    const problems = await this.app.get(Readiness).problems();
    return problems.map((problem) => problem.split(': ', 1).join('')).sort();
  }

  async stop(): Promise<void> {
    await this.app.close();
  }

  #handled(isEvent: boolean): string[] {
    return this.transport.handlers
      .filter((handler) => handler.isEvent === isEvent)
      .map(({ pattern }) => pattern)
      .sort();
  }
}

/** Serves on a free port of this host, with `transport` in place of the other services. */
export async function serveOver(transport: FakeTransport, options: TestServiceOptions): Promise<RunningService> {
  const { app, service } = await createApp(options, transport);
  return serve(app, service);
}

async function createApp(options: TestServiceOptions, transport: FakeTransport) {
  const address = { GATEPOST_DRAIN_SECONDS: 0, GATEPOST_HOST: '127.0.0.1', GATEPOST_PORT: 0 };
  const service: ServiceOptions = {
    ...options,
    env: { ...serviceEnvironment.parse({}), ...address },
    transport: () => transport,
  };
  const module = await Test.createTestingModule({ imports: [serviceModule(service)] })
    .overrideProvider(Redis)
    .useValue(noRedis)
    .compile();
  const http = options.http ?? new FastifyAdapter();
  // Expected errors are not logged.
  const app = module.createNestApplication<NestFastifyApplication>(http, { bodyParser: false, logger: false });
  return { app, service };
}

const rpcContracts = Object.entries(contracts)
  .filter(([name]) => name.endsWith('Rpc'))
  .flatMap(([, group]) => Object.values(group as Record<string, contracts.RpcContract>));

/** The patterns of all RPCs that a service serves, sorted. */
export function contractedRpcs(service: string): string[] {
  return rpcContracts
    .map(({ pattern }) => pattern)
    .filter((pattern) => pattern.startsWith(`${service}.`))
    .sort();
}

/** The patterns of all events that a service handles, sorted. */
export function contractedEvents(service: string): string[] {
  return Object.values<contracts.EventContract>(contracts.events)
    .filter(({ subscribers }) => subscribers.includes(service))
    .map(({ pattern }) => pattern)
    .sort();
}
