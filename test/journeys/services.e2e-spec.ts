import { describe, expect, it } from 'vitest';
import { Metrics } from '#observability';
import { startServices, usePlatforms, useServer } from '#testing';
import { describeApi } from './suites/api.suite.js';

const REPLICAS = { gateway: 2, accounts: 2, 'auth-linking': 2, mail: 1, 'push-delivery': 2 };

/** Whether its series begin with the first thing that is counted. */
function beginsUntold({ kind, labels }: Metrics['described'][number]): boolean {
  return kind !== 'gauge' && Object.values(labels).some((values) => kind === 'histogram' || typeof values === 'string');
}

describe('the services, two of each', () => {
  const platforms = usePlatforms();
  const server = useServer(() => startServices(REPLICAS, platforms().env()));

  it('export all metrics in total, except those without any count', async () => {
    const texts = await Promise.all(
      server().processes.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
    );
    const exported = new Set([...texts.join('\n').matchAll(/^gatepost_\w+/gm)].map(([name]) => name));
    const missing = new Metrics().described
      .filter((metric) => !beginsUntold(metric))
      .map(({ name }) => name)
      .filter((name) => !exported.has(name) && !exported.has(`${name}_count`));
    expect(missing).toEqual([]);
  });

  describeApi(server, platforms);
});
