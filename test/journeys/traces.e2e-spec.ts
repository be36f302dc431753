import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { PushClient } from '#push-client';
import {
  appClient,
  type CollectedSpan,
  eventually,
  type GatepostServer,
  isProvided,
  masterClient,
  newNamespace,
  SERVERS,
  setSetting,
  signUp,
  startServices,
  startStandalone,
  TestProcess,
  testRun,
  unique,
  useServer,
  useSmtpSink,
  useTraceCollector,
} from '#testing';

/** Each of these names, at least once. */
const contains = (names: readonly string[]) => (spans: readonly CollectedSpan[]) => {
  expect(spans.map(({ service, name }) => `${service} ${name}`)).toEqual(expect.arrayContaining([...names]));
};

/** All spans hang together: each has its parent in the trace, but for the first. */
function expectOneTree(spans: readonly CollectedSpan[]): void {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const orphans = spans.filter(({ parentSpanId }) => parentSpanId === undefined || !known.has(parentSpanId));
  expect(orphans.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
    [expect.stringMatching(/^POST /), undefined],
  ]);
}

/** @param nameOf what a service calls itself in traces */
function describeTraces(
  start: (env: Record<string, string>) => Promise<GatepostServer>,
  nameOf: (name: string) => string,
) {
  const collector = useTraceCollector();
  const sink = useSmtpSink();
  const server = useServer(() => start({ ...sink().env(), ...collector().env() }));
  const clients: PushClient[] = [];
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.stop())));

  it('leads from a sign-up to the statements, and to the SMTP server', async () => {
    await setSetting(server(), server().app, 'verifyEmailOnSignUp', 'true');
    const [email, password, requestId] = [`${unique('ada')}@example.com`, unique('password'), randomUUID()];
    const api = appClient(server());
    const { session } = await eventually(async () => {
      const user = await signUp(api, { email: `${unique('early')}@example.com` });
      expect(user.body['emailVerified']).toBe(false);
      return user;
    });
    const headers = { 'x-request-id': requestId, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    const answer = await api.post('/1.1/users', { username: email, email, password }, { headers });
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([201, requestId]);
    const spans = await collector().traceOf(
      requestId,
      contains([
        `${nameOf('gateway')} POST /1.1/users`,
        `${nameOf('gateway')} accounts.signUp`,
        `${nameOf('accounts')} accounts.signUp`,
        `${nameOf('accounts')} INSERT accounts.users`,
        `${nameOf('accounts')} INSERT accounts.outbox`,
        `${nameOf('accounts')} COMMIT`,
        `${nameOf('accounts')} mail.requested.v1 send`,
        `${nameOf('mail')} mail.requested.v1 process`,
        `${nameOf('mail')} INSERT mail.deliveries`,
        `${nameOf('mail')} mail deliver`,
        `${nameOf('mail')} SMTP send`,
      ]),
    );
    expectOneTree(spans);
    expect(spans[0]?.traceId).not.toBe('a'.repeat(32));
    expect(await sink().mailsTo(email)).toHaveLength(1);
    for (const secret of [email, password, session, server().app.appKey, sink().env()['SMTP_URL'] ?? ''])
      expect(collector().received).not.toContain(secret);
  });

  it('holds no session token that a URL names', async () => {
    const [requestId, token] = [randomUUID(), unique('token')];
    const [path, headers] = [`/1.1/users/me?session_token=${token}`, { 'x-request-id': requestId }];
    const { body } = await appClient(server()).get(path, { headers });
    expect(body['code']).toBe(211);
    const wanted = [`${nameOf('gateway')} GET /1.1/users/me`, `${nameOf('accounts')} accounts.getCurrentUser`];
    await collector().traceOf(requestId, contains(wanted));
    expect(collector().received).not.toContain(token);
  });

  it('leads from a push to the frame on the socket of a device', async () => {
    const [channel, requestId] = [unique('channel'), randomUUID()];
    const alerts: unknown[] = [];
    const client = new PushClient({
      server: server().baseUrls[0] ?? '',
      appId: server().app.id,
      registration: { appKey: server().app.appKey, fields: { deviceType: 'android', channels: [channel] } },
      WebSocket,
      onMessage: ({ data }) => void alerts.push(data['alert']),
    });
    clients.push(client);
    client.start();
    await eventually(() => {
      expect(client.state).toBe('connected');
    });
    const push = { channels: [channel], data: { alert: 'a private word' } };
    await masterClient(server()).post('/1.1/push', push, { headers: { 'x-request-id': requestId } });
    const spans = await collector().traceOf(
      requestId,
      contains([
        `${nameOf('gateway')} POST /1.1/push`,
        `${nameOf('push-delivery')} push-delivery.sendPush`,
        `${nameOf('push-delivery')} WITH push.notifications`,
        `${nameOf('push-delivery')} push`,
        `${nameOf('push-delivery')} push wake-ups`,
        `${nameOf('push-delivery')} connector.deliver send`,
        `${nameOf('push-delivery')} connector.deliver process`,
        `${nameOf('push-delivery')} push frames`,
      ]),
    );
    expectOneTree(spans);
    const frames = spans.find(({ name }) => name === 'push frames');
    expect(frames?.attributes).toMatchObject({ 'gatepost.push.devices': 1, 'gatepost.push.frames': 1 });
    expect(alerts).toEqual(['a private word']);
    expect(collector().received).not.toContain('a private word');
  });
}

/** Has a process say at its end how many modules of OpenTelemetry's SDK it has loaded. */
const COUNT_MODULES = `import Module from 'node:module';
process.on('exit', () => {
  const count = Object.keys(Module._cache).filter((file) => file.includes('@opentelemetry/sdk-')).length;
  process.stderr.write('sdk modules: ' + count + '\\n');
});`;

describe.runIf(isProvided(...SERVERS))('tracing that is off', () => {
  const collector = useTraceCollector();
  const loadedBy = async (env: Record<string, string>) => {
    const gateway = TestProcess.start('dist/apps/gateway/src/main.js', [], {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(COUNT_MODULES)}`,
      AMQP_URL: testRun().amqpUrl,
      REDIS_URL: testRun().redisUrl,
      GATEPOST_NAMESPACE: newNamespace(),
      GATEPOST_HOST: '127.0.0.1',
      GATEPOST_PORT: '0',
      GATEPOST_BASE_URL: 'http://127.0.0.1',
      ...env,
    });
    await gateway.untilLogged(/gateway listens on port/);
    await gateway.stop();
    return Number(/sdk modules: (\d+)/.exec(gateway.stderr)?.[1]);
  };

  it('loads nothing of what traces', async () => {
    const [without, withTracing] = await Promise.all([loadedBy({}), loadedBy(collector().env())]);
    expect(without).toBe(0);
    expect(withTracing).toBeGreaterThan(0);
  });
});

describe.runIf(isProvided(...SERVERS))('a trace over services', () => {
  const replicas = { gateway: 1, accounts: 1, mail: 1, 'push-delivery': 0, dispatcher: 1, connector: 1 };
  describeTraces(
    (env) => startServices(replicas, env),
    (name) => `gatepost-${name}`,
  );
});

describe('a trace within one process', () => {
  describeTraces(startStandalone, () => 'gatepost-standalone');
});
