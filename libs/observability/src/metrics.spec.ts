import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Metrics } from './metrics.js';

describe('metrics', () => {
  let metrics: Metrics;

  const readSeries = async (name: string) =>
    (await metrics.expose()).split('\n').filter((line) => line.startsWith(`gatepost_${name}`));
  const later = () => vi.advanceTimersByTimeAsync(1_000);

  beforeEach(() => {
    metrics = new Metrics();
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });
  afterEach(() => {
    metrics.registry.clear();
  });

  it('start counters with zeros, and omit gauges that have not been set', async () => {
    expect(await readSeries('lockouts_total')).toEqual(['gatepost_lockouts_total 0']);
    expect(await readSeries('push_logins_total')).toEqual([
      'gatepost_push_logins_total{outcome="ok"} 0',
      'gatepost_push_logins_total{outcome="limited"} 0',
    ]);
    expect(await readSeries('redis_connected')).toEqual([]);
  });

  it('count observations of a histogram by labels and bounds', async () => {
    const ok = { pattern: 'accounts.signUp', outcome: 'ok' };
    for (const seconds of [0.0005, 0.001, 0.003, 11]) metrics.rpcHandled.observe(ok, seconds);
    metrics.rpcHandled.observe({ ...ok, outcome: 'INTERNAL' }, 0.2);
    const series = await readSeries('rpc_duration_seconds');
    const labels = 'pattern="accounts.signUp",outcome="ok"';
    expect(series.slice(0, 3)).toEqual([
      `gatepost_rpc_duration_seconds_bucket{le="0.001",${labels}} 2`,
      `gatepost_rpc_duration_seconds_bucket{le="0.0025",${labels}} 2`,
      `gatepost_rpc_duration_seconds_bucket{le="0.005",${labels}} 3`,
    ]);
    expect(series).toContain(`gatepost_rpc_duration_seconds_bucket{le="10",${labels}} 3`);
    expect(series).toContain(`gatepost_rpc_duration_seconds_bucket{le="+Inf",${labels}} 4`);
    expect(series).toContain(`gatepost_rpc_duration_seconds_sum{${labels}} 11.0045`);
    expect(series).toContain(`gatepost_rpc_duration_seconds_count{${labels}} 4`);
    expect(series).toContain(`gatepost_rpc_duration_seconds_count{pattern="accounts.signUp",outcome="INTERNAL"} 1`);
  });

  it('show a histogram without labels before its first observation', async () => {
    expect(await readSeries('password_hash_duration_seconds_count')).toHaveLength(1);
  });

  it('are read on demand, at most once a second', async () => {
    let reads = 0;
    const read = () => {
      metrics.redisInFlight.set((reads += 1));
    };
    metrics.sample({ gauges: [metrics.redisInFlight], read });
    expect(await readSeries('redis_commands')).toEqual(['gatepost_redis_commands_in_flight 1']);
    expect(await readSeries('redis_commands')).toEqual(['gatepost_redis_commands_in_flight 1']);
    await later();
    expect(await readSeries('redis_commands')).toEqual(['gatepost_redis_commands_in_flight 2']);
  });

  it('omit a sample that cannot be read, and report the others', async () => {
    let isAway = false;
    const read = () => {
      if (isAway) return Promise.reject(new Error('away'));
      metrics.outboxWaiting.set(3);
      metrics.deliveriesWaiting.set({ channel: 'mail', status: 'queued' }, 4);
      return Promise.resolve();
    };
    metrics.sample({ gauges: [metrics.outboxWaiting, metrics.deliveriesWaiting], read });
    metrics.sample({
      gauges: [metrics.ready],
      read: () => {
        metrics.ready.set(1);
      },
    });
    expect([await readSeries('outbox_waiting'), await readSeries('deliveries_waiting')].flat()).toHaveLength(2);
    isAway = true;
    await later();
    expect([await readSeries('outbox_waiting'), await readSeries('deliveries_waiting')].flat()).toEqual([]);
    expect(await readSeries('ready')).toEqual(['gatepost_ready 1']);
  });

  it('omit only the series of the failed sample, where several samples set one gauge', async () => {
    for (const schema of ['one', 'two']) {
      metrics.outboxWaiting.set({ schema }, 3);
      const read = () => (schema === 'one' ? Promise.reject(new Error('away')) : Promise.resolve());
      metrics.sample({ gauges: [metrics.outboxWaiting], labels: { schema }, read });
    }
    expect(await readSeries('outbox_waiting')).toEqual(['gatepost_outbox_waiting{schema="two"} 3']);
  });

  it('do not wait for a sample that does not finish, and do not start it twice', async () => {
    const read = vi.fn(() => new Promise<void>(() => undefined));
    metrics.outboxWaiting.set(3);
    metrics.sample({ gauges: [metrics.outboxWaiting], read });
    for (let scrapes = 0; scrapes < 2; scrapes += 1) {
      const lines = readSeries('outbox_waiting');
      await vi.advanceTimersByTimeAsync(2_000);
      expect(await lines).toEqual([]);
    }
    expect(read).toHaveBeenCalledOnce();
  });
});
