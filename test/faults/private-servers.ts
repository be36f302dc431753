import { eventually, TestProcess } from '#testing';
import { type Server, SERVERS } from './plan.js';

const START_MS = 120_000;
const VARIABLES = { rabbitmq: 'AMQP_URL', redis: 'REDIS_URL', postgresql: 'DATABASE_URL' } as const;

/** PostgreSQL, Redis and RabbitMQ of our own, which keep on their disks what they have acknowledged. */
export class PrivateServers {
  private constructor(
    private readonly processes: ReadonlyMap<Server, TestProcess>,
    /** Leads services to them. */
    readonly env: Readonly<Record<string, string>>,
  ) {}

  /** @throws Error where a program is not installed; then none is left */
  static async start(): Promise<PrivateServers> {
    const processes = new Map(
      SERVERS.map((kind) => [kind, TestProcess.start('tools/test/private-server.mjs', [kind], {})]),
    );
    try {
      return new PrivateServers(processes, Object.fromEntries(await Promise.all([...processes].map(variableOf))));
    } catch (error) {
      await stopAll(processes);
      throw error;
    }
  }

  /** Ends a server as a crash does. @returns what starts it again on what it has on its disk */
  crash(kind: Server): () => Promise<void> {
    const server = this.processes.get(kind)!;
    server.signal('SIGUSR2');
    return async () => {
      const before = server.stdout;
      server.signal('SIGHUP');
      await eventually(() => {
        if (server.stdout === before) throw new Error(`${kind} does not answer: ${server.stderr}`);
      }, START_MS);
    };
  }

  async stop(): Promise<void> {
    await stopAll(this.processes);
  }
}

async function variableOf([kind, process]: readonly [Server, TestProcess]): Promise<[string, string]> {
  const [url] = await process.untilPrinted(/\S+:\/\/\S+/, START_MS);
  return [VARIABLES[kind], url];
}

async function stopAll(processes: ReadonlyMap<Server, TestProcess>): Promise<void> {
  await Promise.all([...processes.values()].map((server) => server.stop()));
}
