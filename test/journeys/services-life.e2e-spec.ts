import { describe, expect, it } from 'vitest';
import { eventually, isAlive, startServices } from '#testing';

describe('the life of npm run services', () => {
  it('is ready whatever is logged, and ends its services where the terminal is closed', async () => {
    const running = await startServices({ gateway: 1, accounts: 1 }, { GATEPOST_LOG_LEVEL: 'error' });
    expect(running.processes.map(({ service }) => service).sort()).toEqual(['accounts', 'gateway']);
    expect(await running.main.stop('SIGHUP')).toEqual({ status: 0, signal: null });
    await eventually(() => {
      expect(running.processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
    });
  });

  it('looks for its services at the address they listen on', async () => {
    const running = await startServices({ gateway: 1, accounts: 1 }, { GATEPOST_HOST: '127.0.0.2' });
    await running.stop();
  });
});
