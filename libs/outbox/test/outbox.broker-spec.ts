import { randomUUID } from 'node:crypto';
import amqplib, { type ChannelModel } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { event } from '#contracts';
import { Database } from '#database';
import { EventPublisher, RabbitTransport } from '#messaging';
import { Metrics } from '#observability';
import { Inbox, Outbox } from '#outbox';
import { eventually, newDatabase, newNamespace, TcpProxy, testRun } from '#testing';
import { OutboxRelay } from '../src/outbox.relay.js';
import { addOutboxOrigin, createOutboxTables } from '../src/outbox.schema.js';

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

describe('the outbox over RabbitMQ', () => {
  let databaseUrl: string;
  let namespace: string;
  let proxy: TcpProxy;
  let connection: ChannelModel;
  let published: Published[];
  let replicas: Replica[];

  const startReplica = async (isRelaying = true): Promise<Replica> => {
    const options = { url: databaseUrl, schema: SCHEMA, migrations: [], poolSize: 5, applicationName: 'test' };
    const database = new Database(options);
    const transport = new RabbitTransport({ url: proxy.urlFor(testRun().amqpUrl), namespace, connectionName: 'test' });
    await eventually(() => {
      expect(transport.isConnected()).toBe(true);
    });
    const metrics = new Metrics();
    const relay = new OutboxRelay(database, new EventPublisher(transport), metrics, SCHEMA);
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
    await first.database.query(`CREATE SCHEMA ${SCHEMA}`);
    for (const statement of [...createOutboxTables(SCHEMA), addOutboxOrigin(SCHEMA)])
      await first.database.query(statement);
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

  it('publishes what was committed, once, and forgets it', async () => {
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

  it('says which request an event follows from, where there is one', async () => {
    const [{ database, outbox }] = replicas as [Replica];
    await database.transaction(async (tx) => {
      await outbox.add(tx, counted, { value: 1 }, { requestId: 'request-1' });
      await outbox.add(tx, counted, { value: 2 });
    });
    await eventually(() => {
      expect(published.map(({ requestId }) => requestId)).toEqual(['request-1', undefined]);
    });
  });

  it('publishes nothing of what was rolled back', async () => {
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

  it('keeps events while the broker is away, and publishes them in their order later', async () => {
    const [replica] = replicas as [Replica];
    proxy.takeAway();
    await eventually(() => {
      expect(replica.transport.isConnected()).toBe(false);
    });
    for (let value = 0; value < 20; value += 1) await add(replica, value);
    expect([await waiting(replica), values()]).toEqual([20, []]);
    await eventually(async () => {
      const told = await replica.metrics.expose();
      expect(told).toMatch(/^gatepost_outbox_waiting 20$/m);
      expect(told).toMatch(/^gatepost_outbox_oldest_waiting_seconds (?!0$)[\d.]+$/m);
    });
    proxy.bringBack();
    await eventually(() => {
      expect(values()).toEqual(Array.from({ length: 20 }, (_, value) => value));
    }, 15_000);
    await eventually(async () => {
      expect(await waiting(replica)).toBe(0);
    });
  });

  it('loses nothing where the broker goes while events are on their way', async () => {
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
    // At least once: what was published twice has the same id, so that an inbox sees it.
    expect(new Set(published.map(({ id }) => id)).size).toBe(100);
  });

  it('keeps the order, and publishes once, over two replicas that both relay', async () => {
    const [first] = replicas as [Replica];
    const second = await startReplica();
    for (let value = 0; value < 200; value += 1) await add(value % 2 === 0 ? first : second, value);
    await eventually(() => {
      expect(values()).toHaveLength(200);
    });
    expect(values()).toEqual(Array.from({ length: 200 }, (_, value) => value));
  });

  it('publishes what a replica left behind that died after its commit', async () => {
    const dead = await startReplica(false);
    await add(dead, 7);
    await eventually(() => {
      expect(values()).toEqual([7]);
    });
  });

  describe('the inbox', () => {
    const inboxOf = ({ database }: Replica) => new Inbox(database, SCHEMA);

    it('lets a message be handled once, also when it comes many times at once', async () => {
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

    it('lets it be handled again where the work failed', async () => {
      const [replica] = replicas as [Replica];
      const id = randomUUID();
      await expect(inboxOf(replica).once(id, () => Promise.reject(new Error('not now')))).rejects.toThrow('not now');
      expect(await inboxOf(replica).once(id, () => Promise.resolve())).toBe(true);
    });

    it('does the work in the transaction that notes the message', async () => {
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
