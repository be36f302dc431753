import { Logger } from '@nestjs/common';
import { Client, type ClientConfig } from 'pg';

/** A connection with the number of look-ups that it has not answered. */
interface Lane {
  readonly client: Client;
  readonly connected: Promise<unknown>;
  inFlight: number;
}

/**
 * Connections on which many look-ups are in flight at once: each is sent without waiting for the reply to those before it, so that
 * one system call carries several (ADR 41). Each statement is followed by a Sync and is therefore a transaction of its own: a failed one does
 * not affect the others. PostgreSQL runs the statements of a connection one after the other, so only reads of a row by its key belong here: they wait for
 * no lock of a row.
 */
export class LookupConnections {
  readonly #logger = new Logger('PostgreSQL');
  readonly #lanes: (Lane | undefined)[];
  #hasEnded = false;

  /** @param count connections at most. They are made on demand, and kept. */
  constructor(
    private readonly config: ClientConfig,
    count: number,
  ) {
    this.#lanes = Array.from({ length: count }, () => undefined);
  }

  /**
   * Lends the connection with the fewest look-ups in flight to a look-up.
   * @throws the error of node-postgres, also where another look-up's time-out has closed the connection
   */
  async use<T>(lookUp: (client: Client) => Promise<T>): Promise<T> {
    const lane = this.#leastBusy();
    lane.inFlight += 1;
    try {
      await lane.connected;
      return await lookUp(lane.client);
    } finally {
      lane.inFlight -= 1;
    }
  }

  /** Closes the connections after the look-ups in flight. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await Promise.all(this.#lanes.map((lane) => lane?.client.end().catch(() => undefined)));
  }

  #leastBusy(): Lane {
    if (this.#hasEnded) throw new Error('Cannot use a pool after calling end on the pool');
    let best = 0;
    for (let index = 1; index < this.#lanes.length; index += 1) if (this.#load(index) < this.#load(best)) best = index;
    return (this.#lanes[best] ??= this.#open(best));
  }

  /** A connection that does not exist yet is used once all others have something to do. */
  #load(index: number): number {
    return this.#lanes[index]?.inFlight ?? 0.5;
  }

  #open(index: number): Lane {
    const client = new Client({ ...this.config, pipeline: true });
    const lane: Lane = { client, connected: client.connect(), inFlight: 0 };
    const forget = (): void => {
      if (this.#lanes[index] === lane) this.#lanes[index] = undefined;
    };
    // The loss of the connection also fails its look-ups. The error event needs a listener, because it would otherwise end the process.
    client.on('error', (error) => {
      if (lane.inFlight === 0 && !this.#hasEnded) this.#logger.warn(`an idle connection was lost: ${error.message}`);
      forget();
    });
    client.on('end', forget);
    lane.connected.catch(forget);
    return lane;
  }
}
