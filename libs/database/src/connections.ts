import { Logger } from '@nestjs/common';
import { Client, type ClientBase, type ClientConfig, Pool, type PoolConfig } from 'pg';
import { withTimeout } from '#errors';
import { READ_ONLY } from './driver-error.js';
import { MismatchedReply, numbered, runAlone } from './statement.js';

/** Values of PostgreSQL's type integer. */
const MAX_NUMBER = 2 ** 31;
/** An unreachable PostgreSQL does not confirm the end of a connection. */
const CLOSE_TIMEOUT_MS = 2_000;
/** A name or proxy may lead elsewhere by now, and an old server need not have closed its connections. */
export const LONGEST_LIFE_MS = 5 * 60_000;
/** Of a connection to a server without writes: the name may lead to the new primary soon. */
const READ_ONLY_LIFE_MS = 1_000;

/** @returns whether the server is a primary that operators or a full disk have made read-only. @throws an error of SQLSTATE 25006 for a standby */
async function refuseStandby(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ isStandby: boolean; isReadOnly: boolean }>(
    `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly"`,
  );
  if (rows[0]?.isStandby === true) throw Object.assign(new Error('the server is a standby'), { code: READ_ONLY });
  return rows[0]?.isReadOnly === true;
}

interface Lane {
  readonly client: Client;
  readonly connected: Promise<void>;
  readonly openedAtMs: number;
  readonly ageing: NodeJS.Timeout;
  /** From then on, by `performance.now()`, it gets no more look-ups. */
  endsAtMs: number;
  inFlight: number;
  isGathering: boolean;
}

/** Connections with many look-ups in flight at once (ADR 41), only for reads of a row by its key, which wait for no lock of a row. */
export class LookupConnections {
  readonly #logger = new Logger('PostgreSQL');
  readonly #lanes: (Lane | undefined)[];
  readonly #texts = new Map<string, string>();
  #number = 0;
  #hasEnded = false;

  /** @param count connections at most, made on demand. @param lifeMs after which another one replaces a connection */
  constructor(
    private readonly config: ClientConfig,
    count: number,
    private readonly lifeMs = LONGEST_LIFE_MS,
  ) {
    this.#lanes = Array.from({ length: count }, () => undefined);
  }

  async find<Row>(text: string, values: readonly unknown[], name: string): Promise<Row[]> {
    const lane = this.#leastBusy();
    lane.inFlight += 1;
    try {
      await lane.connected;
      this.#gather(lane);
      const number = this.#nextNumber();
      return await runAlone<Row>(lane.client, { name, text: this.#numbered(text, values, name), values, number });
    } catch (error) {
      if (error instanceof MismatchedReply) this.#close(lane, error);
      throw error;
    } finally {
      lane.inFlight -= 1;
      if (!this.#lanes.includes(lane)) this.#endIdle(lane);
    }
  }

  /** The server has refused a write: each connection ends when it is a second old, and the next look-up opens another one. */
  renew(): void {
    for (const lane of this.#lanes) if (lane !== undefined) endAsReadOnly(lane);
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    for (const lane of this.#lanes) clearInterval(lane?.ageing);
    const clients = this.#lanes.flatMap((lane) => lane?.client ?? []);
    await withTimeout(Promise.allSettled(clients.map((client) => client.end())), CLOSE_TIMEOUT_MS, () => {
      for (const client of clients) client.connection.stream.destroy();
    });
  }

  #nextNumber(): number {
    this.#number = (this.#number + 1) % MAX_NUMBER;
    return this.#number;
  }

  #numbered(text: string, values: readonly unknown[], name: string): string {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    const created = numbered({ text, values });
    this.#texts.set(name, created);
    return created;
  }

  #close(lane: Lane, error: MismatchedReply): void {
    this.#forget(lane);
    this.#logger.error(error.message);
    lane.client.connection.stream.destroy(error);
  }

  /** Look-ups of one turn of the event loop leave in one system call. */
  #gather(lane: Lane): void {
    if (lane.isGathering) return;
    lane.isGathering = true;
    const { stream } = lane.client.connection;
    stream.cork();
    setImmediate(() => {
      lane.isGathering = false;
      stream.uncork();
    });
  }

  #leastBusy(): Lane {
    if (this.#hasEnded) throw new Error('Cannot use a pool after calling end on the pool');
    const now = performance.now();
    for (const lane of this.#lanes) if (lane !== undefined && now >= lane.endsAtMs) this.#leave(lane);
    let best = 0;
    for (let index = 1; index < this.#lanes.length; index += 1) if (this.#load(index) < this.#load(best)) best = index;
    return (this.#lanes[best] ??= this.#open());
  }

  #load(index: number): number {
    return this.#lanes[index]?.inFlight ?? 0.5;
  }

  #forget(lane: Lane): void {
    clearInterval(lane.ageing);
    const index = this.#lanes.indexOf(lane);
    if (index !== -1) this.#lanes[index] = undefined;
  }

  #leave(lane: Lane): void {
    this.#forget(lane);
    this.#endIdle(lane);
  }

  #endIdle({ client, inFlight }: Lane): void {
    if (inFlight === 0) void client.end();
  }

  /** Where no other connection can be opened, the old one stays. */
  async #replace(lane: Lane): Promise<void> {
    const next = this.#open();
    const isOpen = await next.connected.then(
      () => true,
      () => false,
    );
    const index = this.#lanes.indexOf(lane);
    if (isOpen && (index === -1 || this.#hasEnded)) this.#leave(next);
    if (!isOpen || index === -1 || this.#hasEnded) return;
    this.#leave(lane);
    this.#lanes[index] = next;
  }

  #open(): Lane {
    const client = new Client({ ...this.config, pipeline: true });
    const openedAtMs = performance.now();
    const connected = client.connect().then(() => this.#checkServer(lane));
    const ageing = setInterval(() => void this.#replace(lane), this.lifeMs).unref();
    const lane: Lane = { client, connected, openedAtMs, ageing, endsAtMs: Infinity, inFlight: 0, isGathering: false };
    const forget = (): void => {
      this.#forget(lane);
    };
    // The loss of the connection also fails its look-ups. The error event needs a listener, because it would otherwise end the process.
    client.on('error', (error) => {
      if (lane.inFlight === 0 && !this.#hasEnded) this.#logger.warn(`an idle connection was lost: ${error.message}`);
      forget();
    });
    client.on('end', forget);
    connected.catch(forget);
    return lane;
  }

  async #checkServer(lane: Lane): Promise<void> {
    try {
      if (await refuseStandby(lane.client)) endAsReadOnly(lane);
    } catch (error) {
      void lane.client.end();
      throw error;
    }
  }
}

function endAsReadOnly(lane: Lane): void {
  lane.endsAtMs = lane.openedAtMs + READ_ONLY_LIFE_MS;
}

/** A pool of connections to the primary. A write that its server refuses also renews the connections of the look-ups. */
export function createPool(config: PoolConfig, lookups: LookupConnections): Pool {
  /** When connections to servers without writes end, by `performance.now()`. */
  const ends = new WeakMap<ClientBase, number>();
  // The pool awaits the hook, although its type returns nothing.
  const onConnect: (client: ClientBase) => unknown = async (client) => {
    if (await refuseStandby(client)) ends.set(client, performance.now() + READ_ONLY_LIFE_MS);
  };
  const pool = new Pool({ ...config, onConnect });
  const logger = new Logger('PostgreSQL');
  // The loss of a connection in use also fails its query. The error event needs a listener, because it would otherwise end the process.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    client.connection.on('errorMessage', ({ code }: { readonly code?: string }) => {
      if (code !== READ_ONLY) return;
      ends.set(client, 0);
      lookups.renew();
    });
  });
  // The pool removes a connection that has ended.
  pool.on('release', (_, client) => {
    if (performance.now() >= (ends.get(client) ?? Infinity)) void client.end();
  });
  pool.on('error', (error) => {
    if (!pool.ending) logger.warn(`an idle connection was lost: ${error.message}`);
  });
  return pool;
}

/** node-postgres would take the URL's `options` in place of others. Of one setting, the last option counts. */
export function withoutOptions(url: string): { readonly connectionString: string; readonly given: string } {
  const given = url.match(/(?<=[?&])options=[^&#]*/g)?.at(-1);
  if (given === undefined) return { connectionString: url, given: '' };
  const connectionString = url.replaceAll(/(?<=[?&])options=[^&#]*&?/g, '');
  return { connectionString, given: new URLSearchParams(given).get('options') ?? '' };
}
