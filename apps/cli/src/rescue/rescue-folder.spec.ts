import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RescueFolder } from './rescue-folder.js';

const NO_PROCESS = 2 ** 30;
const MINUTE_MS = 60_000;

let path: string;
let lock: string;
let holder: string;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'gatepost-rescue-'));
  lock = join(path, 'rescue.lock');
  holder = join(lock, 'holder');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(path, { recursive: true });
});

const writeLock = (text: string) => {
  mkdirSync(lock, { recursive: true });
  writeFileSync(holder, text);
};
const opened = () => RescueFolder.open(path, 'app', 'https://api.example.com');
const setAge = (ms: number) => {
  const time = new Date(Date.now() - ms);
  utimesSync(holder, time, time);
};

describe('a folder that another process has locked', () => {
  it.each([
    ['lives on this host', `${hostname()} ${process.ppid}`, `Process ${process.ppid} uses`],
    ['has our id on another host', `container ${process.pid}`, `Process ${process.pid} on the host container uses`],
    ['is of another host', `container ${NO_PROCESS}`, 'run again after 60 seconds'],
    ['has our id in another container', `${hostname()} ${process.pid} other`, `Process ${process.pid} uses`],
  ])('is refused while the process %s', async (_, text, message) => {
    writeLock(text);
    setAge(MINUTE_MS - 10_000);
    await expect(opened()).rejects.toThrow(message);
    expect(readFileSync(holder, 'utf8')).toBe(text);
  });

  it.each([
    ['has ended', `${hostname()} ${NO_PROCESS}`, 0],
    ['had our id, a minute ago', `${hostname()} ${process.pid}`, MINUTE_MS],
    ['has not refreshed the lock for a minute', `container ${process.pid}`, MINUTE_MS],
  ])('is used once the process %s', async (_, text, age) => {
    writeLock(text);
    setAge(age);
    const folder = await opened();
    expect(readFileSync(holder, 'utf8')).toMatch(`${hostname()} ${process.pid} `);
    await folder.close();
    expect(existsSync(lock)).toBe(false);
  });

  it.each(['stale', 'none'])('is used by one of eight that find the lock %s', async (state) => {
    for (let round = 0; round < 5; round += 1) {
      if (state === 'stale') writeLock(`${hostname()} ${NO_PROCESS}`);
      const results = await Promise.allSettled(Array.from({ length: 8 }, opened));
      const folders = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(folders).toHaveLength(1);
      expect(readdirSync(path).filter((name) => name.startsWith('rescue.lock'))).toEqual(['rescue.lock']);
      const refusals = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
      expect(refusals.filter((text) => text.includes(' uses '))).toHaveLength(7);
      await folders[0]?.save();
      await folders[0]?.close();
    }
  });

  it('is saved no more by a process that was suspended, and keeps the lock of its successor', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const suspended = await opened();
    setAge(MINUTE_MS);
    const successor = await opened();
    vi.advanceTimersByTime(10_000);
    await vi.waitFor(() => expect(suspended.save()).rejects.toThrow('Another process has taken over'));
    await suspended.close();
    await expect(successor.save()).resolves.toBeUndefined();
    await successor.close();
    expect(existsSync(lock)).toBe(false);
  });

  it('is used where an earlier version has left its lock, a file', async () => {
    writeFileSync(lock, `${hostname()} ${process.ppid}`);
    const folder = await opened();
    await folder.close();
    expect(existsSync(lock)).toBe(false);
  });

  it('is not locked by a process that may not use it', async () => {
    const folder = await opened();
    await folder.save();
    await folder.close();
    await expect(RescueFolder.open(path, 'another', 'https://api.example.com')).rejects.toThrow(
      'holds the application',
    );
    expect(existsSync(lock)).toBe(false);
  });

  it('stays locked for as long as the process works', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const folder = await opened();
    setAge(MINUTE_MS);
    vi.advanceTimersByTime(10_000);
    await vi.waitFor(() => {
      expect(statSync(holder).mtimeMs).toBeGreaterThan(Date.now() - 10_000);
    });
    await folder.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
