import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, freePorts, newDatabase, newFolder, newNamespace, TestProcess, testRun } from '#testing';
import { Manifests, type Workload } from './manifests.js';

/** Six processes that start at once, on a machine that may have other things to do. */
const READY_TIMEOUT_MS = 180_000;
const TEST_TIMEOUT_MS = 240_000;

/** The containers of the small overlay as processes of this machine, with the environment that stands in the manifests. */
describe('with the environment of the manifests', () => {
  const manifests = Manifests.render('overlays/small');
  const services = manifests.workloads.filter(({ container }) => container.readinessProbe !== undefined);
  const processes = new Map<string, TestProcess>();
  const ports = new Map<string, number>();
  let shared: Readonly<Record<string, string>>;

  const appOf = ({ container }: Workload) => /gatepost-([a-z-]+):/.exec(container.image ?? '')?.[1] ?? '';
  /** What its Secret would hold; what may be missing is. */
  const environmentOf = (workload: Workload): Record<string, string> => {
    const { values, secrets } = manifests.environment(workload);
    const required = Object.keys(secrets).filter((name) => secrets[name]?.isOptional === false);
    // The image sets it, and the pods mount the folder.
    const image = { NODE_ENV: 'production', GATEPOST_DATA_DIR: newFolder('pod') };
    return { ...image, ...values, ...Object.fromEntries(required.map((name) => [name, shared[name] ?? ''])) };
  };
  const start = (workload: Workload, env: Readonly<Record<string, string>> = {}) =>
    TestProcess.start(`dist/apps/${appOf(workload)}/src/main.js`, workload.container.args ?? [], {
      ...environmentOf(workload),
      GATEPOST_NAMESPACE: shared['GATEPOST_NAMESPACE'] ?? '',
      ...env,
    });

  beforeAll(async () => {
    const { amqpUrl, redisUrl } = testRun();
    shared = {
      DATABASE_URL: await newDatabase(),
      AMQP_URL: amqpUrl,
      REDIS_URL: redisUrl,
      GATEPOST_SECRET: randomBytes(32).toString('hex'),
      GATEPOST_NAMESPACE: newNamespace(),
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
        // Draining is for pods: a test waits for nobody.
        const local = { GATEPOST_PORT: String(first + index), GATEPOST_HOST: '127.0.0.1', GATEPOST_DRAIN_SECONDS: '0' };
        processes.set(workload.name, start(workload, local));
      }
      for (const { name, container } of services) {
        const paths = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
          (probe) => probe?.httpGet?.path ?? '',
        );
        for (const path of [...paths, '/metrics'])
          await eventually(async () => {
            const answer = await fetch(`http://127.0.0.1:${ports.get(name)}${path}`);
            expect(answer.status, `${name}${path}: ${await answer.text()}`).toBe(200);
          }, READY_TIMEOUT_MS);
      }
    },
    TEST_TIMEOUT_MS,
  );

  it('devices are told the address that the entrance has', async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.get('gateway')}/v1/route?appId=any&secure=1`);
    expect(await answer.json()).toMatchObject({ server: 'wss://gatepost.example.com/push' });
  });

  it('every service stops when it is told to', async () => {
    for (const process of processes.values()) expect(await process.stop()).toEqual({ status: 0, signal: null });
  });

  it('the pod for the command line waits, and ends when it is told to', async () => {
    const [, option = '', script = ''] = manifests.workload('cli').container.command ?? [];
    const waiting = spawn(process.execPath, [option, `${script}; console.log('waits')`]);
    await once(waiting.stdout, 'data');
    expect(waiting.exitCode).toBeNull();
    waiting.kill('SIGTERM');
    expect(await once(waiting, 'exit')).toEqual([0, null]);
  });
});
