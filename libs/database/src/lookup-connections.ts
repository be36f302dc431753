import { Logger } from '@nestjs/common';
import { Client, type ClientConfig } from 'pg';
import { MismatchedReply, numbered, runPrepared } from './prepared-query.js';

/** Values of PostgreSQL's type integer. */
const MAX_NUMBER = 2 ** 31;

/** A connection with the number of look-ups that it has not answered. */
interface Lane {
  readonly client: Client;
  readonly connected: Promise<unknown>;
  inFlight: number;
  /** Whether statements are held back until the end of this turn of the event loop. */
  isGathering: boolean;
}

/**
 * Connections on which many look-ups are in flight at once: each is sent without waiting for the reply to those before it, so that
 * one system call carries several (ADR 41). Each reply repeats the number of its look-up, so that a reply to another one is never used. Each statement is followed by a Sync and is therefore a transaction of its own: a failed one does
 * not affect the others. PostgreSQL runs the statements of a connection one after the other, so only reads of a row by its key belong here: they wait for
 * no lock of a row.
 */
export class LookupConnections {
  readonly #logger = new Logger('PostgreSQL');
  readonly #lanes: (Lane | undefined)[];
  /** Numbered texts, by statement name. */
  readonly #texts = new Map<string, string>();
  #number = 0;
  #hasEnded = false;

  /** @param count connections at most. They are made on demand, and kept. */
  constructor(
    private readonly config: ClientConfig,
    count: number,
  ) {
    this.#lanes = Array.from({ length: count }, () => undefined);
  }

  /**
   * Runs a look-up on the connection with the fewest in flight.
   * @param name of the prepared statement; it must be unique to the text
   * @throws the error of node-postgres, also where the time-out of another look-up has closed the connection
   */
  async find<Row>(text: string, values: readonly unknown[], name: string): Promise<Row[]> {
    const lane = this.#leastBusy();
    lane.inFlight += 1;
    try {
      await lane.connected;
      this.#gather(lane);
      const number = this.#nextNumber();
      return await runPrepared<Row>(lane.client, { name, text: this.#numbered(text, values, name), values, number });
    } catch (error) {
      if (error instanceof MismatchedReply) this.#close(lane, error);
      throw error;
    } finally {
      lane.inFlight -= 1;
    }
  }

  /** Closes the connections after the look-ups in flight. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await Promise.allSettled(this.#lanes.map((lane) => lane?.client.end() ?? Promise.resolve()));
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

  /** None of the replies that are still to come can be trusted. */
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
    let best = 0;
    for (let index = 1; index < this.#lanes.length; index += 1) if (this.#load(index) < this.#load(best)) best = index;
    return (this.#lanes[best] ??= this.#open());
  }

  /** A connection that does not exist yet is used once all others have something to do. */
  #load(index: number): number {
    return this.#lanes[index]?.inFlight ?? 0.5;
  }

  /** The next look-up opens another connection in its place. */
  #forget(lane: Lane): void {
    const index = this.#lanes.indexOf(lane);
    if (index !== -1) this.#lanes[index] = undefined;
  }

  #open(): Lane {
    const client = new Client({ ...this.config, pipeline: true });
    const lane: Lane = { client, connected: client.connect(), inFlight: 0, isGathering: false };
    const forget = (): void => {
      this.#forget(lane);
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
