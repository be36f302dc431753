import { Redis as Client } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Redis } from '#redis';
import { eventually, isProvided, newNamespace, type Part, testRun, unique } from '#testing';
import { type ConnectorNode, type ConnectorNodes, MemoryConnectorNodes } from './connector-nodes.js';
import { RedisConnectorNodes } from './redis-sessions.store.js';

const LONG_MS = 60_000;
const SHORT_MS = 100;
const namespace = newNamespace();
let redis: Redis;
let client: Client;

beforeAll(async () => {
  if (!isProvided('redis')) return;
  redis = new Redis({ url: testRun().redisUrl, namespace, connectionName: 'test' });
  client = new Client(testRun().redisUrl);
  await eventually(() => redis.ping());
});
afterAll(() => {
  if (!isProvided('redis')) return;
  redis.close();
  client.disconnect();
});

const newNode = (): ConnectorNode => ({ id: unique('node'), port: 4_001 });
const isLive = async (nodes: ConnectorNodes, { id }: ConnectorNode) =>
  (await nodes.live()).some((node) => node.id === id);

const STORES: { name: string; parts: Part[]; open: (leaseMs: number) => ConnectorNodes }[] = [
  { name: 'Redis', parts: ['redis'], open: (leaseMs) => new RedisConnectorNodes(redis, leaseMs) },
  { name: 'memory', parts: [], open: (leaseMs) => new MemoryConnectorNodes(leaseMs) },
];

describe.each(STORES.filter(({ parts }) => isProvided(...parts)))('connectors in $name', ({ open }) => {
  it('live while they renew their lease, and get the same name of the data', async () => {
    const [nodes, node, other] = [open(LONG_MS), newNode(), { ...newNode(), port: 4_002 }];
    const memory = await nodes.beat(node);
    await nodes.beat(other);
    expect(await nodes.live()).toEqual(expect.arrayContaining([node, other]));
    expect(await nodes.beat(node)).toBe(memory);
  });

  it('live on where the clock of the process is set forward', async () => {
    const [nodes, node] = [open(LONG_MS), newNode()];
    await nodes.beat(node);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * LONG_MS });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    expect(await isLive(nodes, node)).toBe(true);
  });

  it('are gone after they leave', async () => {
    const [nodes, node] = [open(LONG_MS), newNode()];
    await nodes.beat(node);
    await nodes.leave(node.id);
    await nodes.leave(unique('node'));
    expect(await isLive(nodes, node)).toBe(false);
  });

  it('are gone after their lease expires, until they renew it', async () => {
    const [nodes, node] = [open(SHORT_MS), newNode()];
    await nodes.beat(node);
    await eventually(async () => {
      expect(await isLive(nodes, node)).toBe(false);
    });
    await open(LONG_MS).beat(node);
  });
});

describe.runIf(isProvided('redis'))('connectors in Redis', () => {
  let nodes: RedisConnectorNodes;
  let node: ConnectorNode;
  /** A node whose lease has expired. */
  const die = async () => {
    const memory = await new RedisConnectorNodes(redis, SHORT_MS).beat(node);
    await eventually(async () => {
      expect(await isLive(nodes, node)).toBe(false);
    });
    return memory;
  };

  beforeEach(() => {
    nodes = new RedisConnectorNodes(redis, LONG_MS);
    node = newNode();
  });

  it('learn that the server has lost its data', async () => {
    const memory = await nodes.beat(node);
    await client.del(await client.keys(`${namespace}:push:*`));
    expect(await nodes.beat(node)).not.toBe(memory);
  });

  it('learn that their lease had expired', async () => {
    const memory = await die();
    expect(await nodes.beat(node)).not.toBe(memory);
    expect(await nodes.reapExpired()).not.toContain(node.id);
  });

  it('are dead until any process has ended their sessions', async () => {
    await die();
    expect(await nodes.reapExpired()).toContain(node.id);
    expect(await nodes.reapExpired()).toContain(node.id);
    await nodes.acknowledgeReaped([node.id]);
    expect(await nodes.reapExpired()).not.toContain(node.id);
    await nodes.beat(node);
    await nodes.leave(node.id);
    expect(await nodes.reapExpired()).toContain(node.id);
    await nodes.acknowledgeReaped([]);
  });

  it('that return while their sessions are being ended reassert them afterwards', async () => {
    await die();
    await nodes.reapExpired();
    const [first, second] = [await nodes.beat(node), await nodes.beat(node)];
    expect(first).not.toBe(second);
    await nodes.acknowledgeReaped([node.id]);
    const after = await nodes.beat(node);
    expect([first, second]).not.toContain(after);
    expect(await nodes.beat(node)).toBe(after);
    expect(await nodes.live()).toContainEqual(node);
  });
});
