import { randomUUID } from 'node:crypto';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import amqplib, { type ChannelModel } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { event } from '#contracts';
import { appError } from '#errors';
import { MessagingModule, RabbitTransport, type Transport } from '#messaging';
import { Metrics, ObservabilityModule } from '#observability';
import { eventually, newDatabase, newNamespace, TcpProxy, testRun } from '#testing';
import { Database } from '../src/database.js';
import { DatabaseModule } from '../src/database.module.js';
import { addOutboxLease, addOutboxOrigin, createOutboxTables, Inbox, Outbox, OutboxModule } from '../src/outbox.js';
import { OutboxRelay } from '../src/outbox.relay.js';

const SCHEMA = 'sample';
const counted = event('sample.counted.v1', z.object({ value: z.number() }));

interface Published {
  readonly id: string;
  readonly value: number;
  readonly requestId: unknown;
}

/** One replica of a service: its connections, its relay, its outbox. */
interface Replica {
  readonly database: Database;
  readonly transport: RabbitTransport;
  readonly relay: OutboxRelay;
  readonly outbox: Outbox;
  readonly metrics: Metrics;
}

interface ReplicaOptions {
  readonly isRelaying?: boolean;
  /** The URL of its broker. Default: through the proxy. */
  readonly amqpUrl?: string;
  readonly publisher?: BlockedPublisher;
}

/** Responds like a broker that blocks publishers: at once, with SERVICE_UNAVAILABLE. */
class BlockedPublisher implements Pick<Transport, 'publishEvent' | 'problem'> {
  isBlocked = true;
  refused = 0;

  constructor(private readonly transport: RabbitTransport) {}

  problem(): string | undefined {
    return this.transport.problem();
  }

  publishEvent(message: Parameters<Transport['publishEvent']>[0]): Promise<void> {
    if (!this.isBlocked) return this.transport.publishEvent(message);
    this.refused += 1;
    return Promise.reject(appError('SERVICE_UNAVAILABLE', { cause: new Error('the broker blocks publishers') }));
  }
}

class OtherDatabase extends Database {}

describe('the outbox over RabbitMQ', () => {
  let databaseUrl: string;
  let namespace: string;
  let proxy: TcpProxy;
  let connection: ChannelModel;
  let published: Published[];
  let replicas: Replica[];

  const startReplica = async ({ isRelaying = true, amqpUrl, publisher }: ReplicaOptions = {}): Promise<Replica> => {
    const options = { url: databaseUrl, schema: SCHEMA, migrations: [], poolSize: 5, applicationName: 'test' };
    const database = new Database(options);
    const url = amqpUrl ?? proxy.urlFor(testRun().amqpUrl);
    const transport = new RabbitTransport({ url, namespace, connectionName: 'test' });
    await eventually(() => {
      expect(transport.isConnected()).toBe(true);
    });
    const metrics = new Metrics();
    const relay = new OutboxRelay(database, publisher ?? transport, metrics, SCHEMA);
    if (isRelaying) relay.onApplicationBootstrap();
    const replica = { database, transport, relay, outbox: new Outbox(SCHEMA, relay), metrics };
    replicas.push(replica);
    return replica;
  };
  const add = ({ database, outbox }: Replica, ...values: number[]) =>
    database.transaction(async (tx) => {
      for (const value of values) await outbox.add(tx, counted, { value });
    });
  const waiting = async ({ database }: Replica) =>
    Number((await database.query<{ count: string }>(`SELECT count(*) FROM ${SCHEMA}.outbox`))[0]?.count);
  const createTables = async (database: Database, schema: string) => {
    await database.query(`CREATE SCHEMA ${schema}`);
    for (const statement of [...createOutboxTables(schema), addOutboxOrigin(schema), addOutboxLease(schema)])
      await database.query(statement);
  };
  const isLeaseHeld = async ({ database }: Replica) =>
    (await database.query(`SELECT 1 FROM ${SCHEMA}.outbox_lease WHERE held_until > clock_timestamp()`)).length === 1;
  const firstCopies = () => [...new Set(values())];
  const numbers = (count: number) => Array.from({ length: count }, (_, value) => value);
  const values = () => published.map(({ value }) => value);

  beforeEach(async () => {
    [databaseUrl, namespace, published, replicas] = [await newDatabase(), newNamespace(), [], []];
    proxy = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    connection = await amqplib.connect(testRun().amqpUrl);
    const channel = await connection.createChannel();
    await channel.assertExchange(`${namespace}.events`, 'topic', { durable: true });
    const { queue } = await channel.assertQueue('', { exclusive: true });
    await channel.bindQueue(queue, `${namespace}.events`, '#');
    await channel.consume(
      queue,
      (message) => {
        if (message === null) return;
        const { value } = JSON.parse(message.content.toString()) as { value: number };
        const requestId: unknown = message.properties.headers?.['x-gatepost-request-id'];
        published.push({ id: String(message.properties.messageId), value, requestId });
      },
      { noAck: true },
    );
    const first = await startReplica();
    await createTables(first.database, SCHEMA);
  });
  afterEach(async () => {
    proxy.bringBack();
    for (const { relay, transport, database } of replicas) {
      await relay.onApplicationShutdown();
      await transport.close();
      await database.close();
    }
    await connection.close();
    await proxy.close();
  });

  it('publishes committed events once, and deletes them', async () => {
    const [replica] = replicas as [Replica];
    await add(replica, 1);
    await add(replica, 2, 3);
    await eventually(async () => {
      expect(await waiting(replica)).toBe(0);
    });
    await eventually(() => {
      expect(values()).toEqual([1, 2, 3]);
    });
    expect(new Set(published.map(({ id }) => id)).size).toBe(3);
  });

  it('publishes the id of the request that caused an event, where there is one', async () => {
    const [{ database, outbox }] = replicas as [Replica];
    await database.transaction(async (tx) => {
      await outbox.add(tx, counted, { value: 1 }, { requestId: 'request-1' });
      await outbox.add(tx, counted, { value: 2 });
    });
    await eventually(() => {
      expect(published.map(({ requestId }) => requestId)).toEqual(['request-1', undefined]);
    });
  });

  it('publishes no event of a transaction that was rolled back', async () => {
    const [replica] = replicas as [Replica];
    const failing = replica.database.transaction(async (tx) => {
      await replica.outbox.add(tx, counted, { value: 1 });
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    await add(replica, 2);
    await eventually(() => {
      expect(values()).toEqual([2]);
    });
    await eventually(async () => {
      expect(await waiting(replica)).toBe(0);
    });
  });

  it('stores events while the broker is unavailable, and publishes them in order later', async () => {
    const [replica] = replicas as [Replica];
    proxy.takeAway();
    await eventually(() => {
      expect(replica.transport.isConnected()).toBe(false);
    });
    for (let value = 0; value < 20; value += 1) await add(replica, value);
    expect([await waiting(replica), values()]).toEqual([20, []]);
    await eventually(async () => {
      const exposed = await replica.metrics.expose();
      expect(exposed).toMatch(/^gatepost_outbox_waiting\{schema="sample"\} 20$/m);
      expect(exposed).toMatch(/^gatepost_outbox_oldest_waiting_seconds\{schema="sample"\} (?!0$)[\d.]+$/m);
    });
    proxy.bringBack();
    await eventually(() => {
      expect(values()).toEqual(Array.from({ length: 20 }, (_, value) => value));
    }, 15_000);
    await eventually(async () => {
      expect(await waiting(replica)).toBe(0);
    });
  });

  it('loses no event where the broker fails during a batch', async () => {
    const [replica] = replicas as [Replica];
    const adding = (async () => {
      for (let value = 0; value < 100; value += 1) await add(replica, value);
    })();
    await eventually(() => {
      expect(published.length).toBeGreaterThan(10);
    });
    proxy.takeAway();
    await adding;
    proxy.bringBack();
    await eventually(() => {
      expect(new Set(values()).size).toBe(100);
    }, 20_000);
    // At least once: a repeated event has the same id, so that an inbox detects it.
    expect(new Set(published.map(({ id }) => id)).size).toBe(100);
  });

  it('keeps the order, and publishes once, with two relaying replicas', async () => {
    const [first] = replicas as [Replica];
    const second = await startReplica();
    for (let value = 0; value < 200; value += 1) await add(value % 2 === 0 ? first : second, value);
    await eventually(() => {
      expect(values()).toHaveLength(200);
    });
    expect(values()).toEqual(Array.from({ length: 200 }, (_, value) => value));
  });

  it('publishes events of a replica that crashed after its commit', async () => {
    const dead = await startReplica({ isRelaying: false });
    await add(dead, 7);
    await eventually(() => {
      expect(values()).toEqual([7]);
    });
  });

  it('holds its lease but no transaction and no snapshot while the broker does not confirm', async () => {
    const [replica] = replicas as [Replica];
    const sessions = () =>
      replica.database.query<{ state: string; started: Date | null; snapshot: string | null }>(
        `SELECT state, xact_start AS started, backend_xmin AS snapshot FROM pg_stat_activity
          WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
    // Opens more connections, so that the assertion does not run on the relay's connection.
    await Promise.all(numbers(4).map(() => replica.database.query('SELECT pg_sleep(0.05)')));
    proxy.silence();
    await add(replica, ...numbers(3));
    await eventually(async () => {
      expect(await isLeaseHeld(replica)).toBe(true);
      expect(await sessions()).toContainEqual({ state: 'idle', started: null, snapshot: null });
    });
    for (let looks = 0; looks < 20; looks += 1) {
      const open = (await sessions()).filter(({ started, snapshot }) => started !== null || snapshot !== null);
      expect([open, await isLeaseHeld(replica)]).toEqual([[], true]);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await waiting(replica)).toBe(3);
    proxy.bringBack();
    await eventually(async () => {
      expect([firstCopies(), await waiting(replica)]).toEqual([numbers(3), 0]);
    });
  });

  it('keeps the order of first copies where a lease expires while its relay publishes', async () => {
    const [slow] = replicas as [Replica];
    proxy.silence();
    await add(slow, ...numbers(10));
    await eventually(async () => {
      expect(await isLeaseHeld(slow)).toBe(true);
    });
    const second = await startReplica({ amqpUrl: testRun().amqpUrl });
    await slow.database.query(`UPDATE ${SCHEMA}.outbox_lease SET held_until = '-infinity'`);
    await add(second, 10, 11);
    await eventually(() => {
      expect(values()).toEqual(numbers(12));
    });
    proxy.bringBack();
    await eventually(async () => {
      expect(published.length).toBeGreaterThan(12);
      expect(await waiting(slow)).toBe(0);
    }, 15_000);
    expect(firstCopies()).toEqual(numbers(12));
    expect(new Set(published.map(({ id }) => id)).size).toBe(12);
  });

  it("waits for the expiry of a crashed relay's lease", async () => {
    const [replica] = replicas as [Replica];
    await replica.database.query(
      `INSERT INTO ${SCHEMA}.outbox_lease VALUES (1, gen_random_uuid(), clock_timestamp() + interval '1.5 seconds')`,
    );
    await add(replica, 1);
    await eventually(async () => {
      expect(await isLeaseHeld(replica)).toBe(false);
    });
    expect(values()).toEqual([]);
    await eventually(() => {
      expect(values()).toEqual([1]);
    });
  });

  it('skips no event that commits after later ones', async () => {
    const [replica] = replicas as [Replica];
    await replica.database.transaction(async (tx) => {
      await replica.outbox.add(tx, counted, { value: 1 });
      await add(replica, 2);
      await eventually(async () => {
        expect([values(), await waiting(replica)]).toEqual([[2], 0]);
      });
    });
    await eventually(() => {
      expect(values()).toEqual([2, 1]);
    });
  });

  it('publishes the events of one row in the order of its versions, with two replicas', async () => {
    const [first] = replicas as [Replica];
    const second = await startReplica();
    await first.database.query(`CREATE TABLE ${SCHEMA}.users (id integer PRIMARY KEY, version integer NOT NULL)`);
    await first.database.query(`INSERT INTO ${SCHEMA}.users SELECT n, 0 FROM generate_series(0, 1) AS n`);
    const change = ({ database, outbox }: Replica, user: number) =>
      database.transaction(async (tx) => {
        const [row] = await tx.query<{ version: number }>(
          `UPDATE ${SCHEMA}.users SET version = version + 1 WHERE id = $1 RETURNING version`,
          [user],
        );
        await outbox.add(tx, counted, { value: user * 1_000 + (row?.version ?? 0) });
      });
    const lane = async (n: number) => {
      for (let done = 0; done < 10; done += 1) await change(n % 2 === 0 ? first : second, n < 4 ? 0 : 1);
    };
    await Promise.all(numbers(8).map(lane));
    await eventually(() => {
      expect(values()).toHaveLength(80);
    });
    for (const user of [0, 1_000])
      expect(values().filter((value) => value - (value % 1_000) === user)).toEqual(
        numbers(40).map((n) => user + n + 1),
      );
  });

  it('keeps events in order while the broker blocks publishers, polls it rarely, and warns once', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn');
    const [first] = replicas as [Replica];
    await first.relay.onApplicationShutdown();
    const publisher = new BlockedPublisher(first.transport);
    const replica = await startReplica({ publisher });
    for (let value = 0; value < 10; value += 1) await add(replica, value);
    const { refused } = publisher;
    await eventually(() => {
      expect(publisher.refused).toBeGreaterThan(refused + 10);
    });
    // Each commit wakes the relay; without the pause, hundreds of events would have been refused.
    expect(publisher.refused).toBeLessThan(50);
    const [row] = await replica.database.query(`SELECT max(attempts) AS attempts FROM ${SCHEMA}.outbox`);
    expect([row, await waiting(replica)]).toEqual([{ attempts: 0 }, 10]);
    expect(warn.mock.calls).toEqual([['relaying events failed: the broker blocks publishers']]);
    warn.mockRestore();
    publisher.isBlocked = false;
    await eventually(async () => {
      expect([values(), await waiting(replica)]).toEqual([numbers(10), 0]);
    });
  });

  it('is separate for each service: two in one process have a schema, a database and a relay each', async () => {
    const [{ database }] = replicas as [Replica];
    const schemas = ['one', 'two'] as const;
    for (const schema of schemas) await createTables(database, schema);
    const options = (schema: string) => {
      return { url: databaseUrl, schema, migrations: [], poolSize: 2, applicationName: `test-${schema}` };
    };
    @Module({ imports: [OutboxModule.forSchema('one')] })
    class One {
      constructor(readonly outbox: Outbox) {}
    }
    @Module({ imports: [OutboxModule.forSchema('two', OtherDatabase)] })
    class Two {
      constructor(readonly outbox: Outbox) {}
    }
    const metrics = new Metrics();
    const transport = new RabbitTransport({ url: testRun().amqpUrl, namespace, connectionName: 'test' });
    @Module({
      imports: [
        ObservabilityModule.forRoot(metrics),
        MessagingModule.forRoot(transport),
        DatabaseModule.forRoot(options('one')),
        DatabaseModule.forRoot(options('two'), OtherDatabase),
        One,
        Two,
      ],
    })
    class Root {}
    const app = await NestFactory.createApplicationContext(Root, { logger: false });
    try {
      const added = [
        [app.get(Database), app.get(One).outbox],
        [app.get(OtherDatabase), app.get(Two).outbox],
      ] as const;
      expect(added[0][1]).not.toBe(added[1][1]);
      for (const [index, [own, outbox]] of added.entries())
        await own.transaction((tx) => outbox.add(tx, counted, { value: index + 1 }));
      await eventually(() => {
        expect(values().toSorted((a, b) => a - b)).toEqual([1, 2]);
      });
      await eventually(async () => {
        const exposed = await metrics.expose();
        for (const schema of schemas) {
          expect(await database.query(`SELECT id FROM ${schema}.outbox`)).toEqual([]);
          expect(exposed).toContain(`gatepost_outbox_published_total{schema="${schema}",outcome="ok"} 1`);
          expect(exposed).toContain(`gatepost_outbox_waiting{schema="${schema}"} 0`);
        }
      });
    } finally {
      await app.close();
    }
  });

  describe('the inbox', () => {
    const inboxOf = ({ database }: Replica) => new Inbox(database, SCHEMA);

    it('handles a message once, even where it arrives many times concurrently', async () => {
      const [replica] = replicas as [Replica];
      const id = randomUUID();
      let handled = 0;
      const once = () =>
        inboxOf(replica).once(id, () => {
          handled += 1;
          return Promise.resolve();
        });
      const outcomes = await Promise.all([once(), once(), once(), once()]);
      expect(outcomes.filter((isHandled) => isHandled)).toHaveLength(1);
      expect([await once(), handled]).toEqual([false, 1]);
    });

    it('handles a message again where the work failed', async () => {
      const [replica] = replicas as [Replica];
      const id = randomUUID();
      await expect(inboxOf(replica).once(id, () => Promise.reject(new Error('not now')))).rejects.toThrow('not now');
      expect(await inboxOf(replica).once(id, () => Promise.resolve())).toBe(true);
    });

    it('does the work in the transaction that records the message', async () => {
      const [replica] = replicas as [Replica];
      const work = inboxOf(replica).once(randomUUID(), async (tx) => {
        await replica.outbox.add(tx, counted, { value: 1 });
        throw new Error('rolled back');
      });
      await expect(work).rejects.toThrow('rolled back');
      expect(await waiting(replica)).toBe(0);
    });
  });
});
