import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  appClient,
  eventually,
  freePorts,
  isAlive,
  signUp,
  startServices,
  TestProcess,
  unique,
  usePlatforms,
} from '#testing';
import { createPlatformApp } from './suites/platform-apps.js';
import { enter } from './suites/third-party-accounts.js';

const PLATFORM_DELAY_MS = 1_000;

describe('the life of npm run services', () => {
  const platforms = usePlatforms();

  it('is ready whatever is logged, and ends its services where the terminal is closed', async () => {
    const running = await startServices({ gateway: 1, accounts: 1 }, { GATEPOST_LOG_LEVEL: 'error' });
    expect(running.processes.map(({ service }) => service).sort()).toEqual(['accounts', 'gateway']);
    expect(await running.main.stop('SIGHUP')).toEqual({ status: 0, signal: null });
    await eventually(() => {
      expect(running.processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
    });
  });

  it('looks for its services at the address they listen on', async () => {
    const hosts = { GATEPOST_HOST: '127.0.0.2', GATEPOST_CONSOLE_HOST: '127.0.0.3' };
    const env = { ...hosts, GATEPOST_CONSOLE_PORT: String(await freePorts(1)) };
    const running = await startServices({ gateway: 1, accounts: 1, console: 1 }, env);
    await running.stop();
  });

  it('an accounts process with another secret, which is not ready, gets no requests', async () => {
    const running = await startServices({ gateway: 1, accounts: 1 });
    const user = await signUp(appClient(running));
    const env = { ...running.env, GATEPOST_SECRET: randomBytes(32).toString('hex'), GATEPOST_PORT: '0' };
    const wrong = TestProcess.start('dist/apps/accounts/src/main.js', [], env);
    await wrong.untilLogged(/accounts listens on port/);
    for (let request = 0; request < 20; request += 1) {
      const { body } = await appClient(running).get('/1.1/users/me', { session: user.session });
      expect(body['objectId']).toBe(user.id);
    }
    expect(await wrong.stop()).toEqual({ status: 0, signal: null });
    await running.stop();
  });

  it('a stopping auth-linking waits for the platforms that it has asked: their codes are good for one use', async () => {
    const running = await startServices({ gateway: 1, accounts: 1, 'auth-linking': 1 }, platforms().env());
    const { api } = await createPlatformApp(running, platforms(), ['lc_weapp']);
    platforms().slowDown('lc_weapp', PLATFORM_DELAY_MS);
    const login = enter(api, { lc_weapp: { code: platforms().weapp.issueCode({ openid: unique('openid') }) } });
    await eventually(() => {
      expect(platforms().calls('lc_weapp')).toHaveLength(1);
    });
    await sleep(PLATFORM_DELAY_MS / 10);
    const { pid = 0 } = running.processes.find(({ service }) => service === 'auth-linking') ?? {};
    process.kill(pid, 'SIGTERM');
    expect((await login).status).toBe(201);
    await running.stop();
  });
});
