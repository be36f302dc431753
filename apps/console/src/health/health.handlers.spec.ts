import { expect, it } from 'vitest';
import type { RpcClient } from '#messaging';
import { HealthHandlers } from './health.handlers.js';

/** Answers in turn, as the broker distributes requests. */
function serviceOf(replicas: number) {
  let asked = 0;
  const call = ({ pattern }: { readonly pattern: string }) => {
    if (pattern !== 'accounts.examine') return Promise.reject(new Error('no process'));
    asked += 1;
    return Promise.resolve({ instance: `accounts-${asked % replicas}`, servers: [] });
  };
  return { rpc: { call } as unknown as RpcClient, asked: () => asked };
}

it.each([
  [1, 4],
  [3, 4],
  [4, 8],
  [23, 32],
])('the health of %i processes takes %i requests', async (replicas, requests) => {
  const { rpc, asked } = serviceOf(replicas);
  const health = await new HealthHandlers(rpc, { url: '', namespace: '' }).getHealth();
  expect(health.processes).toHaveLength(replicas);
  expect(health.silent).toContain('mail');
  expect(asked()).toBe(requests);
});
