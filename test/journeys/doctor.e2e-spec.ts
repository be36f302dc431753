import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  eventually,
  freePorts,
  gatepost,
  type GatepostServer,
  isProvided,
  newFolder,
  selfSignedCertificate,
  startServices,
  testRun,
  useServer,
} from '#testing';

const START_MS = 180_000;

/** The findings of the doctor in one part of a deployment. */
async function diagnosisOf(server: Pick<GatepostServer, 'env'>, ...args: string[]) {
  const { status, stdout, stderr } = await gatepost(server, 'doctor', '--json', ...args);
  expect(stderr).toBe('');
  const { sections, silent } = JSON.parse(stdout) as {
    sections: { title: string; findings: { problem: string; isAdvice?: boolean }[] }[];
    silent: string[];
  };
  const findings = sections.flatMap((section) => section.findings);
  return { status, silent, problems: findings.filter((one) => one.isAdvice !== true).map((one) => one.problem) };
}

const EVERYTHING = { gateway: 1, accounts: 1, 'auth-linking': 1, mail: 1, 'push-delivery': 1 };

describe('the doctor on a deployment (operations, "Doctor")', () => {
  const running = useServer(() => startServices({ ...EVERYTHING, accounts: 2 }));

  it('finds nothing where nothing is wrong, having asked every process', async () => {
    const { status, stdout, stderr } = await gatepost(running(), 'doctor');
    expect([status, stdout, stderr]).toEqual([0, 'No problems found.\n', '']);
  });

  it('names the reason for which a command cannot use the broker', async () => {
    const url = new URL(testRun().amqpUrl);
    url.password = 'wrong';
    const { status, stdout, stderr } = await gatepost({ env: { AMQP_URL: url.href } }, 'doctor');
    expect([status, stdout, stderr]).toEqual([1, '', 'AMQP_URL: RabbitMQ refused the login.\n']);
  });

  it('finds a certificate that is not trusted', async () => {
    const server = createServer(selfSignedCertificate(), (_, response) => response.end('{"status":"ok"}'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { problems } = await diagnosisOf(running(), '--url', `https://127.0.0.1:${port}`);
    server.close();
    expect(problems).toContainEqual(expect.stringMatching(/The certificate of https:.* is not trusted: /));
  });

  it('finds a proxy that is not trusted, once requests have come by it', async () => {
    const { baseUrls, app } = running();
    await ApiClient.forApp(baseUrls[0] ?? '', app).get('/1.1/date', { headers: { 'x-forwarded-for': '203.0.113.9' } });
    expect((await diagnosisOf(running())).problems).toEqual([expect.stringMatching(/proxy that is not trusted/)]);
  });
});

describe.runIf(isProvided('redis-server'))('the doctor on a weak deployment', () => {
  let redis: ChildProcess;
  let weak: GatepostServer;

  beforeAll(async () => {
    const port = await freePorts(1);
    const flags = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', newFolder('redis')];
    redis = spawn('redis-server', [...flags, '--maxmemory-policy', 'allkeys-lru'], { stdio: 'ignore' });
    weak = await startServices(EVERYTHING, {
      NODE_ENV: 'production',
      GATEPOST_BASE_URL: 'http://api.example.com',
      GATEPOST_SECRET: 'not a very secret secret of anybody',
      REDIS_URL: `redis://127.0.0.1:${port}`,
    });
  }, START_MS);
  afterAll(async () => {
    await weak.stop();
    redis.kill('SIGKILL');
  });

  it(
    'finds what is wrong with settings and servers',
    async () => {
      const { status, silent, problems } = await diagnosisOf(weak, '--url', weak.baseUrls[0] ?? '');
      expect([status, silent]).toEqual([1, []]);
      const expected = [
        /GATEPOST_SECRET can be guessed: it consists of words/,
        /http:\/\/api\.example\.com is not encrypted/,
        /maxmemory-policy "allkeys-lru"/,
        /Redis has no AOF/,
        /Clients use http:\/\/127.*links of mails lead to http:\/\/api\.example\.com/,
        /open to the public: .*\/metrics, .*\/healthz, .*\/readyz/,
        /Devices are sent to "ws:\/\/api\.example\.com:\d+\/push", which accepts no connection/,
      ];
      for (const problem of expected) expect(problems).toContainEqual(expect.stringMatching(problem));
      expect(problems).toHaveLength(expected.length);
    },
    START_MS,
  );

  it(
    'finds what is not ready, and what does not answer at all',
    async () => {
      const pid = weak.processes.find(({ service }) => service === 'mail')!.pid;
      process.kill(pid, 'SIGKILL');
      redis.kill('SIGKILL');
      await eventually(async () => {
        const { status, silent, problems } = await diagnosisOf(weak, '--url', weak.baseUrls[0] ?? '');
        expect([status, silent]).toEqual([1, ['mail']]);
        expect(problems).toContainEqual(expect.stringMatching(/accounts does not reach redis: /));
        expect(problems).toContainEqual(expect.stringMatching(/accounts \(\d+ on .*\) is not ready: "redis: /));
      }, START_MS);
    },
    START_MS,
  );
});
