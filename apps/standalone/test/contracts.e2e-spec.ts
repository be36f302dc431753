import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, startService } from '#bootstrap';
import { Secret } from '#config';
import * as contracts from '#contracts';
import { InProcessTransport } from '#messaging';
import { testRun } from '#testing';
import { AccountsModule } from '../../accounts/src/accounts.module.js';
import { GatewayModule } from '../../gateway/src/gateway.module.js';
import { createHttpServer, prepareHttpServer } from '../../gateway/src/http/http-server.js';

/** A transport that notes which handlers every service registers. */
class NotingTransport extends InProcessTransport {
  readonly handled: { pattern: string; isEvent: boolean }[] = [];

  override createServer(): ReturnType<InProcessTransport['createServer']> {
    const server = super.createServer();
    const addHandler = server.addHandler.bind(server);
    server.addHandler = (pattern: unknown, callback, isEvent = false, extras = {}) => {
      this.handled.push({ pattern: String(pattern), isEvent });
      addHandler(pattern, callback, isEvent, extras);
    };
    return server;
  }
}

const rpcContracts = Object.entries(contracts)
  .filter(([name]) => name.endsWith('Rpc'))
  .flatMap(([, group]) => Object.values(group as Record<string, contracts.RpcContract>));

describe('the contracts', () => {
  const transport = new NotingTransport();
  let service: RunningService;

  beforeAll(async () => {
    const gateway = { baseUrl: 'http://localhost', bodyLimitBytes: 1_048_576 };
    const accounts = {
      databaseUrl: testRun().databaseUrl,
      databasePool: 1,
      secret: new Secret('a secret of thirty-two characters, or more'),
      passwordCost: 4,
      passwordQueueLimit: 10,
      passwordConcurrency: 1,
      objectLimitBytes: 1_048_576,
      initialApplication: undefined,
    };
    service = await startService({
      name: 'contracts',
      serves: ['accounts'],
      imports: [GatewayModule.forRoot(gateway), AccountsModule.forRoot(accounts)],
      env: {
        GATEPOST_DRAIN_SECONDS: 0,
        GATEPOST_HOST: '127.0.0.1',
        GATEPOST_LOG_LEVEL: 'error',
        GATEPOST_PORT: 0,
      } as never,
      transport: () => transport,
      http: createHttpServer(gateway),
      prepare: prepareHttpServer,
    });
  });
  afterAll(() => service.stop());

  it('of RPCs have exactly one handler each, and there is no handler without a contract', () => {
    const patterns = transport.handled.filter(({ isEvent }) => !isEvent).map(({ pattern }) => pattern);
    expect(patterns.sort()).toEqual(rpcContracts.map(({ pattern }) => pattern).sort());
  });

  it('of events are declared wherever one is handled', () => {
    const declared = Object.values(contracts.events).map(({ pattern }) => pattern);
    for (const { pattern } of transport.handled.filter(({ isEvent }) => isEvent)) expect(declared).toContain(pattern);
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
