import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, Secret, startService } from '#bootstrap';
import * as contracts from '#contracts';
import { InProcessTransport } from '#messaging';
import { testRun } from '#testing';
import { AccountsModule } from '../../accounts/src/accounts.module.js';
import { AuthLinkingModule } from '../../auth-linking/src/auth-linking.module.js';
import { consoleConfig, consoleEnvironment } from '../../console/src/console.config.js';
import { ConsoleModule } from '../../console/src/console.module.js';
import { createConsoleServer, prepareConsoleServer } from '../../console/src/http-server.js';
import { gatewayConfig, gatewayEnvironment } from '../../gateway/src/gateway.config.js';
import { GatewayModule } from '../../gateway/src/gateway.module.js';
import { createHttpServer, prepareHttpServer } from '../../gateway/src/http-server.js';
import { MailModule } from '../../mail/src/mail.module.js';
import { pushDeliveryConfig, pushDeliveryEnvironment } from '../../push-delivery/src/push-delivery.config.js';
import { PushDeliveryModule } from '../../push-delivery/src/push-delivery.module.js';
import { DataFolder } from '../src/data-folder/data-folder.js';
import { DataFolderModule } from '../src/data-folder/data-folder.module.js';

interface Handled {
  readonly service: string;
  readonly pattern: string;
  readonly isEvent: boolean;
}

/** A transport that records the handlers of a service. */
class RecordingTransport extends InProcessTransport {
  constructor(
    private readonly service: string,
    private readonly handled: Handled[],
  ) {
    super();
  }

  override createServer(): ReturnType<InProcessTransport['createServer']> {
    const server = super.createServer();
    const addHandler = server.addHandler.bind(server);
    server.addHandler = (pattern: unknown, callback, isEvent = false, extras = {}) => {
      this.handled.push({ service: this.service, pattern: String(pattern), isEvent });
      addHandler(pattern, callback, isEvent, extras);
    };
    return server;
  }
}

const rpcContracts = Object.entries(contracts)
  .filter(([name]) => name.endsWith('Rpc'))
  .flatMap(([, group]) => Object.values(group as Record<string, contracts.RpcContract>));

const SECRET = new Secret('a secret of thirty-two characters, or more');
const env = {
  GATEPOST_DRAIN_SECONDS: 0,
  GATEPOST_HOST: '127.0.0.1',
  GATEPOST_LOG_LEVEL: 'error',
  GATEPOST_PORT: 0,
} as never;

describe('the contracts', () => {
  const handled: Handled[] = [];
  const running: RunningService[] = [];

  beforeAll(async () => {
    const gateway = gatewayConfig(gatewayEnvironment.parse({}));
    const accounts = {
      databaseUrl: testRun().databaseUrl,
      databasePool: 1,
      secret: SECRET,
      acceptedSecrets: [],
      passwordCost: 4,
      passwordQueueLimit: 10,
      passwordConcurrency: 1,
      objectLimitBytes: 1_048_576,
      textMessageLimit: undefined,
      linkLifetimesMs: { verifyEmail: 1, resetPassword: 1 },
      initialApplication: undefined,
    };
    const authLinking = {
      databaseUrl: testRun().databaseUrl,
      databasePool: 1,
      secret: SECRET,
      acceptedSecrets: [],
      platformUrls: new Map<string, string>(),
      internalNetworks: [],
    };
    const mail = {
      databaseUrl: testRun().databaseUrl,
      databasePool: 1,
      secret: SECRET,
      acceptedSecrets: [],
      baseUrl: 'http://localhost',
      mailFrom: 'no-reply@localhost',
      smtp: undefined,
      mailLimit: undefined,
      mailFolder: testRun().folder,
      textMessageFolder: testRun().folder,
      twilioUrl: 'http://127.0.0.1:1',
      internalNetworks: [],
      show: () => undefined,
    };
    const environment = { DATABASE_URL: testRun().databaseUrl, GATEPOST_SECRET: SECRET.reveal() };
    const push = pushDeliveryConfig(pushDeliveryEnvironment.parse(environment));
    const console = consoleConfig(consoleEnvironment.parse({ ...environment, NODE_ENV: 'test' }));
    running.push(
      await startService({
        name: 'accounts',
        serves: ['accounts'],
        imports: [
          GatewayModule.forRoot(gateway, { requestCounts: 'memory' }),
          AccountsModule.forRoot(accounts, { lockouts: 'postgresql' }),
        ],
        env,
        transport: () => new RecordingTransport('accounts', handled),
        http: createHttpServer(gateway),
        prepare: prepareHttpServer,
      }),
      await startService({
        name: 'auth-linking',
        serves: ['auth-linking'],
        imports: [AuthLinkingModule.forRoot(authLinking)],
        env,
        transport: () => new RecordingTransport('auth-linking', handled),
      }),
      await startService({
        name: 'mail',
        serves: ['mail'],
        imports: [MailModule.forRoot(mail)],
        env,
        transport: () => new RecordingTransport('mail', handled),
      }),
      await startService({
        name: 'push-delivery',
        serves: ['push-delivery'],
        imports: [PushDeliveryModule.forRoot(push, { deviceQueues: 'postgresql' })],
        env,
        transport: () => new RecordingTransport('push-delivery', handled),
      }),
      await startService({
        name: 'console',
        serves: ['console'],
        imports: [ConsoleModule.forRoot(console, null)],
        env,
        transport: () => new RecordingTransport('console', handled),
        http: createConsoleServer(console),
        prepare: prepareConsoleServer,
      }),
      await startService({
        name: 'gateway',
        serves: ['gateway'],
        imports: [],
        env,
        transport: () => new RecordingTransport('gateway', handled),
      }),
      await startService({
        name: 'standalone',
        serves: ['standalone'],
        imports: [DataFolderModule.forRoot(new DataFolder(testRun().folder), false)],
        env,
        transport: () => new RecordingTransport('standalone', handled),
      }),
    );
  });
  afterAll(() => Promise.all(running.map((service) => service.stop())));

  it('of RPCs have exactly one handler each, and there is no handler without a contract', () => {
    const patterns = handled.filter(({ isEvent }) => !isEvent).map(({ pattern }) => pattern);
    expect(patterns.sort()).toEqual(rpcContracts.map(({ pattern }) => pattern).sort());
  });

  it('of events are handled by those services that they name as subscribers, and by no other', () => {
    const declared = Object.values(contracts.events).flatMap(({ pattern, subscribers }) =>
      subscribers.map((service) => ({ service, pattern, isEvent: true })),
    );
    const byPattern = (one: Handled, other: Handled) => one.pattern.localeCompare(other.pattern);
    expect(handled.filter(({ isEvent }) => isEvent).sort(byPattern)).toEqual(declared.sort(byPattern));
  });

  it('are named service.verbNoun, and events noun.pastTense.vN', () => {
    for (const { pattern } of rpcContracts) expect(pattern).toMatch(/^[a-z-]+\.[a-z]+[A-Za-z]*$/);
    for (const { pattern } of Object.values(contracts.events)) expect(pattern).toMatch(/^[a-z]+\.[a-z]+ed\.v\d+$/);
  });

  it('have patterns of their own, and a deadline', () => {
    expect(new Set(rpcContracts.map(({ pattern }) => pattern)).size).toBe(rpcContracts.length);
    for (const { timeoutMs } of rpcContracts) expect(timeoutMs).toBeGreaterThan(0);
  });
});
