import { existsSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { z } from 'zod';
import type { EventContract } from '#contracts';
import { abortableSleep } from '#errors';
import { MessagingModule, RabbitTransport, TRANSPORT, type Transport } from '#messaging';
import {
  JsonLogger,
  logWarnings,
  Metrics,
  ObservabilityModule,
  Readiness,
  startTracing,
  stopTracing,
} from '#observability';
import { DiagnosticsModule } from './diagnostics.js';
import { environment } from './environment.js';
import { drainConnections, endKeptConnections } from './http.js';
import type { RunningProcess } from './run.js';

const REQUEST_TIMEOUT_MS = 30_000;
/** The default of Node.js is 30 seconds. */
const CHECKING_INTERVAL_MS = 5_000;

/** The headers have the timeout of the request: Node's 60 seconds for headers would also extend the time of an endless body. */
export const ARRIVAL_TIMES = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  http: { connectionsCheckingInterval: CHECKING_INTERVAL_MS, headersTimeout: REQUEST_TIMEOUT_MS },
} as const;

/** A client that reads nothing of a response for this time is disconnected, at the latest after twice the time. */
const UNREAD_TIMEOUT_MS = 30_000;

/** The version in the nearest package.json above this file, for builds and sources alike. */
export function packageVersion(folder = import.meta.dirname): string {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return packageVersion(dirname(folder));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

export const serviceEnvironment = environment.pick({
  GATEPOST_DRAIN_SECONDS: true,
  GATEPOST_HOST: true,
  GATEPOST_LOG_LEVEL: true,
  GATEPOST_PORT: true,
  NODE_ENV: true,
  OTEL_EXPORTER_OTLP_ENDPOINT: true,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: true,
  OTEL_EXPORTER_OTLP_HEADERS: true,
  OTEL_RESOURCE_ATTRIBUTES: true,
  OTEL_SERVICE_NAME: true,
  OTEL_TRACES_SAMPLER: true,
  OTEL_TRACES_SAMPLER_ARG: true,
});

export const brokerEnvironment = environment.pick({ AMQP_URL: true, GATEPOST_NAMESPACE: true });

/** The RabbitMQ transport of the named process. Its `publishes` events wait for subscribers that have never run. */
export function overRabbit(
  name: string,
  env: z.output<typeof brokerEnvironment>,
  publishes: readonly EventContract[] = [],
): (metrics: Metrics) => Transport {
  const options = {
    url: env.AMQP_URL,
    namespace: env.GATEPOST_NAMESPACE,
    connectionName: `gatepost-${name}`,
    publishes,
  };
  return (metrics) => new RabbitTransport({ ...options, metrics });
}

export interface ServiceOptions {
  readonly name: string;
  readonly serves: readonly string[];
  readonly imports: readonly DynamicModule[];
  readonly env: z.output<typeof serviceEnvironment>;
  readonly transport: (metrics: Metrics) => Transport;
  readonly http?: FastifyAdapter;
  readonly prepare?: (app: NestFastifyApplication) => void;
}

export interface RunningService extends RunningProcess {
  readonly app: NestFastifyApplication;
  readonly port: number;
  /** Reports "draining" on /readyz, and serves for GATEPOST_DRAIN_SECONDS longer. */
  drain(): Promise<void>;
  /** Drains, then accepts no new work, finishes work in progress, and closes everything. */
  stop(): Promise<void>;
}

/** How long a start waits for databases, broker and services. Other replicas serve meanwhile. */
const READY_WITHIN_MS = 5_000;
const READY_POLL_MS = 50;
/** An operator has to act, or a server to return. */
const UNFIT_POLL_MS = 1_000;

export async function startService(options: ServiceOptions): Promise<RunningService> {
  // Here, not for each listener: all lines of a process have its name.
  Logger.overrideLogger(new JsonLogger(options.name, options.env.GATEPOST_LOG_LEVEL));
  logWarnings(new Logger('Node'));
  await startTracing({ name: options.name, version: packageVersion() }, options.env);
  const service = await startListener(options);
  return {
    ...service,
    stop: async () => {
      await service.stop();
      await stopTracing();
    },
  };
}

/** Starts modules with a HTTP server and receivers of their own, in a process that `startService` has started. */
export async function startListener(options: ServiceOptions): Promise<RunningService> {
  const http = options.http ?? new FastifyAdapter({ ...ARRIVAL_TIMES, return503OnClosing: false });
  const app = await NestFactory.create<NestFastifyApplication>(serviceModule(options), http, {
    bodyParser: false,
    abortOnError: false,
  });
  return serve(app, options);
}

export function serviceModule({ name, serves, imports, env, transport }: ServiceOptions): DynamicModule {
  @Module({})
  class RootModule {}
  const metrics = new Metrics();
  metrics.buildInfo.set({ component: name, version: packageVersion() }, 1);
  return {
    module: RootModule,
    imports: [
      ObservabilityModule.forRoot(metrics),
      MessagingModule.forRoot(transport(metrics)),
      DiagnosticsModule.forServices(serves, {
        service: name,
        version: packageVersion(),
        isProduction: env.NODE_ENV === 'production',
      }),
      ...imports,
    ],
  };
}

/** The system (net.core.somaxconn) drops requests beyond it, and clients wait 1, 2, 4 … s: Node's 511 are too few for returning devices. */
const LISTEN_BACKLOG = 16_384;

/** Waits until ready, because work arrives as soon as the process listens; but five seconds at most: /readyz then reports the problem. */
export async function serve(app: NestFastifyApplication, options: ServiceOptions): Promise<RunningService> {
  const { env } = options;
  const receivers = new Receivers(app, options);
  connect(app, options);
  try {
    // The dependencies of the handlers start before the first message arrives.
    await app.init();
    await untilReady(app, options);
    await receivers.start();
    await app.listen({ port: env.GATEPOST_PORT, host: env.GATEPOST_HOST, backlog: LISTEN_BACKLOG });
  } catch (error) {
    await receivers.stop();
    await app.close();
    throw error;
  }
  const { port } = app.getHttpServer().address() as { port: number };
  new Logger('Service').log(`${options.name} listens on port ${port}`);
  let draining: Promise<void> | undefined;
  const drained = () => (draining ??= drain(app, options));
  const stop = async () => {
    await drained();
    await receivers.stop();
    await drainConnections(app.getHttpServer(), () => app.close());
  };
  return { app, port, drain: drained, stop };
}

/** They start when the process is known to be fit: a load balancer sends nothing to one that is not ready, but the broker would. */
class Receivers {
  readonly #logger = new Logger('Service');
  readonly #stop = new AbortController();
  #starting: Promise<void> = Promise.resolve();

  constructor(
    private readonly app: NestFastifyApplication,
    private readonly options: ServiceOptions,
  ) {}

  async start(): Promise<void> {
    const readiness = this.app.get(Readiness);
    if (callsItself(this.options) || (await readiness.fitness()) === 'fit') await this.app.startAllMicroservices();
    else this.#starting = this.#startOnceFit(readiness);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#starting;
  }

  async #startOnceFit(readiness: Readiness): Promise<void> {
    const { signal } = this.#stop;
    let [logged, hasStarted] = ['', false];
    // The process that this one replaces must not stop before.
    readiness.register('receivers', () => {
      if (!hasStarted) throw new Error('not started');
    });
    for (let fitness = await readiness.fitness(); fitness !== 'fit'; fitness = await readiness.fitness()) {
      if (fitness !== logged)
        this.#logger.error(`receives no requests and events: ${(await readiness.problems()).join('; ')}`);
      logged = fitness;
      await abortableSleep(UNFIT_POLL_MS, signal);
      if (signal.aborted) return;
    }
    await this.app.startAllMicroservices();
    hasStarted = true;
    this.#logger.log('receives requests and events');
  }
}

/** Connects an application to its HTTP server and its transport. Neither receives anything yet. */
export function connect(app: NestFastifyApplication, { serves, prepare }: ServiceOptions): void {
  ignoreExpectations(app.getHttpServer());
  limitUnreadResponses(app);
  prepare?.(app);
  const transport = app.get<Transport>(TRANSPORT);
  for (const service of serves) app.connectMicroservice({ strategy: transport.createServer(service) });
}

function limitUnreadResponses(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onSend', ({ raw: { socket } }, _reply, _payload, done) => {
    // Set only now, because the connection is idle while the request is handled. Requests within a batch have no socket of their own.
    if (socket instanceof Socket) socket.setTimeout(UNREAD_TIMEOUT_MS);
    done();
  });
}

/** Node.js answers 417 to an `Expect` other than `100-continue`; here such a request is like any other (RFC 9110, 10.1.1). */
function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** The standalone server calls its own RPCs, which cannot reply before it receives. It reports at its start what it cannot do. */
function callsItself({ serves }: ServiceOptions): boolean {
  return serves.includes('standalone');
}

async function untilReady(app: NestFastifyApplication, options: ServiceOptions): Promise<void> {
  if (callsItself(options)) return;
  const readiness = app.get(Readiness);
  const deadline = performance.now() + READY_WITHIN_MS;
  const isWorthWaiting = async () => (await readiness.problems()).length > 0 && (await readiness.fitness()) !== 'unfit';
  while (performance.now() < deadline && (await isWorthWaiting())) await sleep(READY_POLL_MS);
}

async function drain(app: NestFastifyApplication, { env }: ServiceOptions): Promise<void> {
  app.get(Readiness).startDraining();
  endKeptConnections(app.getHttpServer());
  await sleep(env.GATEPOST_DRAIN_SECONDS * 1000);
}
