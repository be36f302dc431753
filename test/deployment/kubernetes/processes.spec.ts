import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, freePorts, newDatabase, newFolder, newNamespace, TestProcess, testRun } from '#testing';
import { Manifests, type Workload } from './manifests.js';

/** Eight processes that start at once, on a machine that may have other things to do. */
const READY_TIMEOUT_MS = 180_000;
const TEST_TIMEOUT_MS = 240_000;

/** The containers of the small overlay as processes of this machine, with the environment that stands in the manifests. */
describe('with the environment of the manifests', () => {
  const manifests = Manifests.render('overlays/small');
  const services = manifests.workloads.filter(({ container }) => container.readinessProbe !== undefined);
  const processes = new Map<string, TestProcess>();
  const ports = new Map<string, number>();
  let namespace: string;
  /** The content of the Secret; optional values are missing, except for the first application. */
  let secret: Readonly<Record<string, string>>;

  const appOf = ({ container }: Workload) => /gatepost-([a-z-]+):/.exec(container.image ?? '')?.[1] ?? '';
  const environmentOf = (workload: Workload): Record<string, string> => {
    const { values, secrets } = manifests.environment(workload);
    const held = Object.keys(secrets).filter((name) => name in secret);
    // The image sets the first, and the pods mount the second.
    const image = { NODE_ENV: 'production', GATEPOST_DATA_DIR: newFolder('pod') };
    return { ...image, ...values, ...Object.fromEntries(held.map((name) => [name, secret[name] ?? ''])) };
  };
  const start = (workload: Workload, env: Readonly<Record<string, string>> = {}) =>
    TestProcess.start(`dist/apps/${appOf(workload)}/src/main.js`, workload.container.args ?? [], {
      ...environmentOf(workload),
      GATEPOST_NAMESPACE: namespace,
      ...env,
    });

  /** Asks what Kubernetes and Prometheus ask. */
  const untilAnswered = async ({ name, container }: Workload) => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    for (const path of [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.path ?? '')) {
      expect(await statusOf(name, path), `${name}${path}`).toBe(200);
    }
    expect(await statusOf(name, '/metrics'), name).toBe(200);
  };
  /** One that ends is waited for no longer: its last words are the reason. */
  const endOf = async ({ name }: Workload): Promise<never> => {
    const { status } = (await processes.get(name)?.exited) ?? {};
    throw new Error(`${name} ended with ${status}: ${processes.get(name)?.stderr.slice(-1_000)}`);
  };
  const statusOf = async (name: string, path: string) => {
    const answer = await fetch(`http://127.0.0.1:${ports.get(name)}${path}`).catch(() => undefined);
    return answer?.status;
  };

  beforeAll(async () => {
    const { amqpUrl, redisUrl } = testRun();
    namespace = newNamespace();
    secret = {
      DATABASE_URL: await newDatabase(),
      AMQP_URL: amqpUrl,
      REDIS_URL: redisUrl,
      GATEPOST_SECRET: randomBytes(32).toString('hex'),
      GATEPOST_APP_ID: 'my-first-app',
      GATEPOST_APP_KEY: 'my-first-key',
    };
  });

  afterAll(() => Promise.all([...processes.values()].map((process) => process.stop())));

  it(
    'the migrations run',
    async () => {
      const migration = start(manifests.workload('migrate'));
      expect(await migration.exited, migration.stderr).toEqual({ status: 0, signal: null });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'every service starts and answers its probes, and Prometheus',
    async () => {
      const first = await freePorts(services.length);
      for (const [index, workload] of services.entries()) {
        ports.set(workload.name, first + index);
        // Draining is for pods: a test need not wait.
        const [port, host] = [String(first + index), '127.0.0.1'];
        const listener =
          workload.name === 'console'
            ? { GATEPOST_CONSOLE_PORT: port, GATEPOST_CONSOLE_HOST: host }
            : { GATEPOST_PORT: port, GATEPOST_HOST: host };
        const local = { ...listener, GATEPOST_DRAIN_SECONDS: '0' };
        processes.set(workload.name, start(workload, local));
      }
      for (const workload of services)
        await Promise.race([eventually(() => untilAnswered(workload), READY_TIMEOUT_MS), endOf(workload)]);
    },
    TEST_TIMEOUT_MS,
  );

  it('devices get the address of the entrance', async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.get('gateway')}/v1/route?appId=my-first-app&secure=1`);
    expect(await answer.json()).toMatchObject({ server: 'wss://gatepost.example.com/push' });
  });

  it(
    'every service stops on SIGTERM',
    async () => {
      for (const [name, process] of processes)
        expect(await process.stop(), `${name}: ${process.stderr.slice(-1_000)}`).toEqual({ status: 0, signal: null });
    },
    TEST_TIMEOUT_MS,
  );

  it('the pod for the command line waits, and ends on SIGTERM', async () => {
    const [, option = '', script = ''] = manifests.workload('cli').container.command ?? [];
    const waiting = spawn(process.execPath, [option, `${script}; console.log('waits')`]);
    await once(waiting.stdout, 'data');
    expect(waiting.exitCode).toBeNull();
    waiting.kill('SIGTERM');
    expect(await once(waiting, 'exit')).toEqual([0, null]);
  });
});
