import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeviceMemory, memoryStore, webStorageStore } from './device.js';
import { fileStore } from './file-store.js';
import type { DeviceState, DeviceStore } from './push-client.types.js';

vi.mock(import('node:fs/promises'), async (load) => {
  const real = await load();
  return { ...real, writeFile: vi.fn(real.writeFile) as typeof real.writeFile };
});

const noError = vi.fn<(error: Error) => void>();

afterEach(() => {
  expect(noError).not.toHaveBeenCalled();
});

describe('the memory of a device', () => {
  it('generates a secret name at the first start, and loads it at the next', async () => {
    const store = memoryStore();
    const first = await DeviceMemory.load(store, undefined, noError);
    expect(first.installationId).toMatch(/^[0-9a-f]{32}$/);
    expect((await DeviceMemory.load(store, undefined, noError)).installationId).toBe(first.installationId);
    const other = await DeviceMemory.load(memoryStore(), undefined, noError);
    expect(other.installationId).not.toBe(first.installationId);
  });

  it('loads the ids of seen messages at the next start', async () => {
    const store = memoryStore();
    const first = await DeviceMemory.load(store, 'device', noError);
    first.add('a');
    await first.save();
    const second = await DeviceMemory.load(store, 'device', noError);
    expect([second.has('a'), second.has('b')]).toEqual([true, false]);
  });

  it('starts empty for another device', async () => {
    const store = memoryStore();
    const first = await DeviceMemory.load(store, 'device', noError);
    first.add('a');
    await first.save();
    expect((await DeviceMemory.load(store, 'another', noError)).has('a')).toBe(false);
  });

  it('keeps the latest 500 ids', async () => {
    const memory = await DeviceMemory.load(memoryStore(), 'device', noError);
    for (let number = 0; number < 600; number += 1) memory.add(`id${number}`);
    expect([memory.has('id99'), memory.has('id100')]).toEqual([false, true]);
    expect(memory.latest(2)).toEqual(['id598', 'id599']);
    expect(memory.latest(1_000)).toHaveLength(500);
  });

  it('combines concurrent saves into one write', async () => {
    const written: DeviceState[] = [];
    let finish: () => void = () => undefined;
    const store: DeviceStore = {
      load: () => ({ installationId: 'device', seen: [] }),
      save: (state) => {
        written.push(state);
        return new Promise((resolve) => (finish = resolve));
      },
    };
    const memory = await DeviceMemory.load(store, undefined, noError);
    memory.add('a');
    const first = memory.save();
    memory.add('b');
    const second = memory.save();
    memory.add('c');
    const third = memory.save();
    finish();
    await first;
    await vi.waitFor(() => {
      expect(written).toHaveLength(2);
    });
    finish();
    await Promise.all([second, third]);
    expect(written.map(({ seen }) => seen)).toEqual([['a'], ['a', 'b', 'c']]);
  });

  it('writes once at a time, whenever the saves come', async () => {
    const seen = { writes: 0, most: 0, last: 0 };
    const store: DeviceStore = {
      load: () => ({ installationId: 'device', seen: [] }),
      save: async (state) => {
        seen.writes += 1;
        seen.most = Math.max(seen.most, seen.writes);
        seen.last = state.seen.length;
        for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
        seen.writes -= 1;
      },
    };
    const memory = await DeviceMemory.load(store, undefined, noError);
    const saves: Promise<void>[] = [];
    for (let number = 0; number < 100; number += 1) {
      memory.add(`id${number}`);
      saves.push(memory.save());
      await Promise.resolve();
    }
    await Promise.all(saves);
    expect(seen).toEqual({ writes: 0, most: 1, last: 100 });
  });

  it('reports a failing store, and continues', async () => {
    const errors: Error[] = [];
    const full: DeviceStore = {
      load: () => undefined,
      save: () => {
        throw new Error('full');
      },
    };
    const memory = await DeviceMemory.load(full, 'device', (error) => errors.push(error));
    memory.add('a');
    await memory.save();
    expect(memory.has('a')).toBe(true);
    expect(errors.map(({ message }) => message)).toEqual(
      Array(2).fill('the state of the device could not be saved') as string[],
    );
  });
});

describe('stores', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatepost-push-client-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const state = { installationId: 'device', seen: ['a', 'b'] };

  it('write the state to a file that only its owner can read, and leave no other file', async () => {
    const file = join(folder, 'state.json');
    await fileStore(file).save(state);
    expect(await fileStore(file).load()).toEqual(state);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['state.json']);
    expect(await readFile(file, 'utf8')).toBe(JSON.stringify(state));
  });

  it('are on the disk before they replace the old file', async () => {
    const file = join(folder, 'state.json');
    await fileStore(file).save(state);
    expect(vi.mocked(writeFile)).toHaveBeenLastCalledWith(
      `${file}.new`,
      JSON.stringify(state),
      expect.objectContaining({ flush: true }),
    );
  });

  it('return no state where there is no file yet, and report an unreadable one', async () => {
    expect(await fileStore(join(folder, 'none')).load()).toBeUndefined();
    await expect(async () => fileStore(folder).load()).rejects.toThrow('EISDIR');
  });

  it.each([
    ['', undefined],
    ['{"installationId":7,"seen":[]}', undefined],
    ['{"installationId":"device"}', undefined],
    ['null', undefined],
    ['{"installationId":"device","seen":["a",7,"b"]}', state],
  ])('read %s as %o', (text, wanted) => {
    const kept = new Map([['gatepost-push', text]]);
    const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: kept.set.bind(kept) };
    expect(webStorageStore(storage).load()).toEqual(wanted);
  });

  it('keep the state under a key of a web storage', async () => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
    };
    expect(await webStorageStore(storage, 'mine').load()).toBeUndefined();
    await webStorageStore(storage, 'mine').save(state);
    expect([...kept.keys()]).toEqual(['mine']);
    expect(await webStorageStore(storage, 'mine').load()).toEqual(state);
  });
});
