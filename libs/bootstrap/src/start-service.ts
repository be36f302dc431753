import { existsSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { dirname, join } from 'node:path';
import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { z } from 'zod';
import type { EventContract } from '#contracts';
import { MessagingModule, RabbitTransport, TRANSPORT, type Transport } from '#messaging';
import { JsonLogger, Metrics, ObservabilityModule, Readiness, startTracing, stopTracing } from '#observability';
import { environment } from './environment.js';
import { drainConnections, endKeptConnections, type RunningProcess, stopListening } from './run.js';
import { SelfReportModule } from './self-report.js';

const REQUEST_TIMEOUT_MS = 30_000;
/** Node.js by itself looks every 30 seconds only. */
const CHECKING_INTERVAL_MS = 5_000;

/**
 * For Fastify: a request must have arrived whole within 30 seconds, and whoever takes longer is noticed within five more. The headers get no
 * other time: with Node's own 60 seconds for them, a body that never ends would have those 60.
 */
export const ARRIVAL_TIMES = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  http: { connectionsCheckingInterval: CHECKING_INTERVAL_MS, headersTimeout: REQUEST_TIMEOUT_MS },
} as const;

/** The version of Gatepost, as the next package.json above this file says it: where it was built to, or as a source. */
export function packageVersion(folder = import.meta.dirname): string {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return packageVersion(dirname(folder));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** The variables that every process reads. */
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

/** The variables of a process that reaches the others over RabbitMQ. */
export const brokerEnvironment = environment.pick({ AMQP_URL: true, GATEPOST_NAMESPACE: true });

/** The RabbitMQ transport of the named process. What it `publishes` waits for subscribers that have never run. */
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

interface ServiceOptions {
  /** Its name in logs and metrics. */
  readonly name: string;
  /** The services whose RPCs and events this process receives. */
  readonly serves: readonly string[];
  readonly imports: readonly DynamicModule[];
  readonly env: z.output<typeof serviceEnvironment>;
  readonly transport: (metrics: Metrics) => Transport;
  /** The HTTP server; a plain one, for health and metrics, unless given. */
  readonly http?: FastifyAdapter;
  /** Called before the server listens. */
  readonly prepare?: (app: NestFastifyApplication) => void;
}

export interface RunningService extends RunningProcess {
  readonly app: NestFastifyApplication;
  readonly port: number;
  /** Drains: takes no new work, finishes what is in hand, then closes everything. */
  stop(): Promise<void>;
}

/** How long a start waits for databases, broker and services: as others do its work meanwhile. */
const READY_WITHIN_MS = 5_000;
const READY_POLL_MS = 50;

/**
 * Starts a process's HTTP server and its receivers. They take work as soon as it can be done: others may be there to do it, and
 * an entrance or a broker gives a process its share at once. Where databases or broker are away, it is up all the same after
 * five seconds; /readyz tells.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { env } = options;
  await startTracing({ name: options.name, version: packageVersion() }, env);
  const metrics = new Metrics();
  metrics.buildInfo.set({ component: options.name, version: packageVersion() }, 1);
  const http = options.http ?? new FastifyAdapter({ ...ARRIVAL_TIMES, return503OnClosing: false });
  const app = await NestFactory.create<NestFastifyApplication>(rootModule(options, metrics), http, {
    logger: new JsonLogger(options.name, env.GATEPOST_LOG_LEVEL),
    bodyParser: false,
    abortOnError: false,
  });
  ignoreExpectations(app.getHttpServer());
  options.prepare?.(app);
  const transport = app.get<Transport>(TRANSPORT);
  for (const service of options.serves) app.connectMicroservice({ strategy: transport.createServer(service) });
  try {
    // First what the handlers need, then their messages.
    await app.init();
    await untilReady(app, options);
    await app.startAllMicroservices();
    await app.listen(env.GATEPOST_PORT, env.GATEPOST_HOST);
  } catch (error) {
    await app.close();
    throw error;
  }
  const { port } = app.getHttpServer().address() as { port: number };
  new Logger('Service').log(`${options.name} listens on port ${port}`);
  return { app, port, stop: () => drain(app, options) };
}

/** Node.js answers 417 without a body to an `Expect` that is not `100-continue`. Such a request is served like any other (RFC 9110, 10.1.1). */
function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

async function untilReady(app: NestFastifyApplication, { serves }: ServiceOptions): Promise<void> {
  // Who is alone asks itself, and would not answer yet.
  if (serves.includes('standalone')) return;
  const readiness = app.get(Readiness);
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline && (await readiness.problems()).length > 0)
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
}

function rootModule({ name, serves, imports, env, transport }: ServiceOptions, metrics: Metrics): DynamicModule {
  @Module({})
  class RootModule {}
  return {
    module: RootModule,
    imports: [
      ObservabilityModule.forRoot(metrics),
      MessagingModule.forRoot(transport(metrics)),
      SelfReportModule.forServices(serves, {
        service: name,
        version: packageVersion(),
        isProduction: env.NODE_ENV === 'production',
      }),
      ...imports,
    ],
  };
}

async function drain(app: NestFastifyApplication, { env, http }: ServiceOptions): Promise<void> {
  const server = app.getHttpServer();
  app.get(Readiness).startDraining();
  endKeptConnections(server);
  await new Promise((resolve) => setTimeout(resolve, env.GATEPOST_DRAIN_SECONDS * 1000));
  // Beside probes only devices come to a plain server. An entrance takes one that is refused to another connector, while
  // those that are here are sent away.
  const refusing = http === undefined ? stopListening(server) : undefined;
  await drainConnections(server, async () => {
    await app.close();
    await refusing;
  });
  await stopTracing();
}
