import { expect, it } from 'vitest';
import type { RpcClient } from '#messaging';
import type { SignedIn } from '../routing/console-handler.js';
import { HealthHandlers } from './health.handlers.js';

/** Answers in turn, as the broker distributes requests. */
function serviceOf(replicas: number) {
  let asked = 0;
  const call = ({ pattern }: { readonly pattern: string }) => {
    if (pattern !== 'accounts.diagnose') return Promise.reject(new Error('no process'));
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

it('finds what the reports of the processes show, and shows weak secrets to owners alone', async () => {
  const report = (change: object) => ({
    ...{ service: 'mail', host: 'host', pid: 1, version: '0.1.0', isProduction: true, problems: [], servers: [] },
    settings: {},
    ...change,
  });
  const reports: Readonly<Record<string, object>> = {
    'mail.diagnose': report({ instance: 'm', settings: { secretWeakness: 'it repeats itself' } }),
    'accounts.diagnose': report({ instance: 'a', service: 'accounts', version: '0.2.0' }),
  };
  const call = ({ pattern }: { readonly pattern: string }) => {
    const found = reports[pattern];
    return found === undefined ? Promise.reject(new Error('no process')) : Promise.resolve(found);
  };
  const handlers = new HealthHandlers({ call } as unknown as RpcClient, { url: '', namespace: '' });
  const found = async (isOwner: boolean) => (await handlers.getFindings({ operator: { isOwner } as SignedIn })).items;
  const versions = {
    problem: expect.stringMatching(/0\.2\.0 \(accounts\)/) as string,
    remedy: 'Expected during an upgrade: complete it.',
    isAdvice: false,
  };
  expect(await found(false)).toEqual([versions]);
  expect(await found(true)).toEqual([
    versions,
    expect.objectContaining({ problem: 'GATEPOST_SECRET can be guessed: it repeats itself.' }),
  ]);
});
