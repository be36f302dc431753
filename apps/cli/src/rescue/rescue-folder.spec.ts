import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RescueFolder } from './rescue-folder.js';

const NO_PROCESS = 2 ** 30;
const MINUTE_MS = 60_000;

let path: string;
let lock: string;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'gatepost-rescue-'));
  lock = join(path, 'rescue.lock');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(path, { recursive: true });
});

const opened = () => RescueFolder.open(path, 'app', 'https://api.example.com');
const setAge = (ms: number) => {
  const time = new Date(Date.now() - ms);
  utimesSync(lock, time, time);
};

describe('a folder that another process has locked', () => {
  it.each([
    ['lives on this host', `${hostname()} ${process.ppid}`, `Process ${process.ppid} uses`],
    ['has our id on another host', `container ${process.pid}`, `Process ${process.pid} on the host container uses`],
    ['is of another host', `container ${NO_PROCESS}`, 'run again after 60 seconds'],
  ])('is refused while the process %s', async (_, text, message) => {
    writeFileSync(lock, text);
    setAge(MINUTE_MS - 10_000);
    await expect(opened()).rejects.toThrow(message);
    expect(readFileSync(lock, 'utf8')).toBe(text);
  });

  it.each([
    ['has ended', `${hostname()} ${NO_PROCESS}`, 0],
    ['had our id', `${hostname()} ${process.pid}`, 0],
    ['has not refreshed the lock for a minute', `container ${process.pid}`, MINUTE_MS],
  ])('is used once the process %s', async (_, text, age) => {
    writeFileSync(lock, text);
    setAge(age);
    const folder = await opened();
    expect(readFileSync(lock, 'utf8')).toBe(`${hostname()} ${process.pid}`);
    await folder.close();
  });

  it('stays locked for as long as the process works', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const folder = await opened();
    setAge(MINUTE_MS);
    vi.advanceTimersByTime(10_000);
    await vi.waitFor(() => {
      expect(statSync(lock).mtimeMs).toBeGreaterThan(Date.now() - 10_000);
    });
    await folder.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
