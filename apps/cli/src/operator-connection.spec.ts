import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { consoleSealingRpc } from '#contracts';
import { RpcClient, type RpcTransport } from '#messaging';
import { FakeTransport } from '#testing';
import { callReplicas, type Deployment, SilentServiceError } from './operator-connection.js';

const DEPLOYMENT = { isOneProcess: false, replicas: () => Promise.resolve(3) } as unknown as Deployment;

/** The broker distributes requests in turn. @param hanging positions of the three processes that do not answer */
async function askedOf(hanging: readonly number[]) {
  const instances = Array.from({ length: 3 }, () => randomUUID());
  let requests = 0;
  const services = new FakeTransport().answer(consoleSealingRpc.describe, () => ({
    instance: instances[(requests - 1) % 3]!,
    keyId: '00000000',
    acceptedKeyIds: [],
    tables: [],
  }));
  const transport: RpcTransport = {
    request: (pattern, body) => {
      if (hanging.includes(requests++ % 3)) throw new SilentServiceError('console', undefined, {});
      return services.request(pattern, body);
    },
  };
  const replies = await callReplicas(new RpcClient(transport), DEPLOYMENT, consoleSealingRpc.describe);
  return { answers: replies.answers.length, expected: replies.expected, requests };
}

describe('a request to each process of a service', () => {
  it('has the answers of the others where one hangs', async () => {
    expect(await askedOf([])).toEqual({ answers: 3, expected: 3, requests: 3 });
    expect(await askedOf([0])).toEqual({ answers: 2, expected: 3, requests: 7 });
  });

  it('fails after three timeouts where all hang', async () => {
    await expect(askedOf([0, 1, 2])).rejects.toThrow('No console service answers.');
  });
});
