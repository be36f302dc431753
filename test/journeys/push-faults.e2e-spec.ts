import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, type GatepostServer, masterClient, startServices, TestProcess } from '#testing';
import { DeviceFleet } from '../load/device-fleet.js';

const START_MS = 90_000;
/** A killed dispatcher's lease, clients' pauses, and a busy machine. */
const REACHED_MS = 90_000;
const DEVICES = 2_000;
/** The lowest that the API knows: a push takes two seconds, and something can happen in the middle of it. */
const DEVICES_PER_SECOND = 1_000;

/** A broker of its own: the one of the other tests may not be crashed. */
describe(`a push to ${DEVICES} devices on two connectors`, () => {
  let rabbit: TestProcess;
  let server: GatepostServer;
  let fleet: DeviceFleet;
  const running: Record<'connector' | 'dispatcher', TestProcess[]> = { connector: [], dispatcher: [] };

  const startOne = async (role: 'connector' | 'dispatcher') => {
    const env = { ...server.env, GATEPOST_PORT: '0', GATEPOST_PUSH_ROLES: role };
    const one = TestProcess.start('dist/apps/push-delivery/src/main.js', [], env);
    running[role].push(one);
    const [, port] = await one.untilLogged(/push-delivery listens on port (\d+)/);
    await eventually(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
      expect(answer.status).toBe(200);
    }, START_MS);
  };
  const kill = async (role: 'connector' | 'dispatcher') => {
    const victim = running[role].shift();
    victim?.signal('SIGKILL');
    await victim?.exited;
  };
  /** @returns the push's id */
  const send = async (text: string) => {
    const { status, body } = await masterClient(server)
      .acceptingUnavailable()
      .post('/1.1/push', { channels: ['fleet'], data: { alert: text }, flow_control: DEVICES_PER_SECOND });
    expect(status).toBe(200);
    return String(body['objectId']);
  };
  const underWay = (push: string) =>
    eventually(() => {
      expect(fleet.reached(push)).toBeGreaterThan(0);
      expect(fleet.reached(push)).toBeLessThan(DEVICES);
    });
  const expectEachOnce = async (push: string) => {
    await eventually(() => {
      expect(fleet.reached(push)).toBe(DEVICES);
    }, REACHED_MS);
    await eventually(async () => {
      const { body } = await masterClient(server).acceptingUnavailable().get(`/1.1/notifications/${push}`);
      expect(body).toMatchObject({ status: 'done', devices: DEVICES, successes: DEVICES });
    }, REACHED_MS);
    expect(fleet.repeated(push)).toBe(0);
  };

  beforeAll(async () => {
    rabbit = TestProcess.start('tools/test/private-server.mjs', ['rabbitmq'], {});
    const [url] = await rabbit.untilPrinted(/amqp:\S+/, START_MS);
    server = await startServices({ gateway: 1, accounts: 1 }, { AMQP_URL: url });
    for (const role of ['connector', 'dispatcher'] as const) for (let one = 0; one < 2; one += 1) await startOne(role);
    const { id: appId, appKey } = server.app;
    fleet = new DeviceFleet({ server: server.baseUrls[0] ?? '', appId, appKey, size: DEVICES });
    await fleet.start();
  }, 4 * START_MS);
  afterAll(async () => {
    await fleet.stop();
    await Promise.all([...running.connector, ...running.dispatcher].map((one) => one.stop()));
    await server.stop();
    await rabbit.stop();
  }, START_MS);

  it(
    'is shown to each once where nothing breaks',
    async () => {
      await expectEachOnce(await send('calm'));
    },
    REACHED_MS,
  );

  it('and once where a connector is killed in the middle', { timeout: 2 * REACHED_MS }, async () => {
    const push = await send('connector');
    await underWay(push);
    await kill('connector');
    await expectEachOnce(push);
    await startOne('connector');
  });

  it('and once where the dispatchers are killed in the middle', { timeout: 2 * REACHED_MS }, async () => {
    const push = await send('dispatcher');
    await underWay(push);
    // Which of them works on the push is its own affair.
    await kill('dispatcher');
    await kill('dispatcher');
    await startOne('dispatcher');
    await expectEachOnce(push);
    await startOne('dispatcher');
  });

  it('and once where RabbitMQ is killed in the middle', { timeout: 2 * REACHED_MS }, async () => {
    const push = await send('broker');
    await underWay(push);
    process.kill(rabbit.pid, 'SIGHUP');
    await rabbit.untilPrinted(/(?:amqp:\S+\s+){2}/, START_MS);
    await expectEachOnce(push);
  });
});
