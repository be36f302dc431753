import { gatepost, type GatepostServer, setSetting, startServices } from '#testing';
import { LoadBalancer } from './load-balancer.js';
import { endReplica, type Replica, type ServiceStart, startReplica } from './replicas.js';

/** Longer than the load balancer takes to notice, on a busy machine too. */
const GATEWAY_DRAIN_SECONDS = '2';

/** The services, in the order in which docs/operations.md replaces them. */
export const SERVICES = ['accounts', 'auth-linking', 'mail', 'dispatcher', 'connector', 'gateway'] as const;
export type Service = (typeof SERVICES)[number];

/** Every service in several processes, behind a load balancer. */
export class Cluster {
  readonly #replicas = new Map<Service, Replica[]>();

  private constructor(
    private readonly server: GatepostServer,
    private readonly balancer: LoadBalancer,
    private readonly starts: Readonly<Record<Service, ServiceStart>>,
  ) {}

  /** Starts everything, for an application that has addresses verified. */
  static async start(size: number, env: Readonly<Record<string, string>>): Promise<Cluster> {
    const balancer = await LoadBalancer.start();
    // Only for its database, its names and its keys.
    const server = await startServices({ gateway: 0, accounts: 0 }, { ...env, GATEPOST_BASE_URL: balancer.url });
    const { status } = await server.main.exited;
    if (status !== 0) throw new Error(`the migrations failed: ${server.main.stderr}`);
    const cluster = new Cluster(server, balancer, startsOf(server));
    try {
      for (const service of SERVICES) await Promise.all(Array.from({ length: size }, () => cluster.#startOne(service)));
      await setSetting(server, server.app, 'verifyEmailOnSignUp', 'true');
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get url(): string {
    return this.balancer.url;
  }

  get app(): GatepostServer['app'] {
    return this.server.app;
  }

  get env(): GatepostServer['env'] {
    return this.server.env;
  }

  get services(): ReadonlyMap<Service, readonly Replica[]> {
    return this.#replicas;
  }

  get replicas(): Replica[] {
    return [...this.#replicas.values()].flat();
  }

  /** Replaces a process: first the new one, then the oldest one's end. */
  async replaceOne(service: Service): Promise<void> {
    await this.#startOne(service);
    const old = this.#replicas.get(service)!.shift()!;
    await endReplica(old);
    this.#forget(service, old);
  }

  /** Kills the oldest process of a service, as a machine that fails does. @returns what starts another one in its place */
  async killOne(service: Service): Promise<() => Promise<void>> {
    const [victim] = this.#replicas.get(service)!;
    await victim!.process.stop('SIGKILL');
    return async () => {
      await this.#startOne(service);
      this.#replicas.set(
        service,
        this.#replicas.get(service)!.filter((replica) => replica !== victim),
      );
      this.#forget(service, victim!);
    };
  }

  /** Runs the command line. @returns what it printed */
  async command(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await gatepost(this.server, ...args);
    if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}${stdout}`);
    return stdout;
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map(({ process }) => process.stop()));
    await this.balancer.stop();
  }

  async #startOne(service: Service): Promise<void> {
    const replica = await startReplica(this.starts[service]);
    this.#replicas.set(service, [...(this.#replicas.get(service) ?? []), replica]);
    if (service === 'gateway') this.balancer.add(replica.port);
  }

  #forget(service: Service, { port }: Replica): void {
    if (service === 'gateway') this.balancer.remove(port);
  }
}

function startsOf({ env }: GatepostServer): Record<Service, ServiceStart> {
  return {
    accounts: { app: 'accounts', env },
    'auth-linking': { app: 'auth-linking', env },
    mail: { app: 'mail', env },
    dispatcher: { app: 'push-delivery', env: { ...env, GATEPOST_PUSH_ROLES: 'dispatcher' } },
    connector: { app: 'push-delivery', env: { ...env, GATEPOST_PUSH_ROLES: 'connector' } },
    gateway: { app: 'gateway', env: { ...env, GATEPOST_DRAIN_SECONDS: GATEWAY_DRAIN_SECONDS } },
  };
}
