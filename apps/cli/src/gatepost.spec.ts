import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operatorSocketPath } from '#bootstrap';
import { application, applicationsRpc } from '#contracts';
import { type ServedOperators, serveOperators } from '#messaging';
import { FakeTransport } from '#testing';
import { runGatepost } from './gatepost.js';

const CONTRACTS = [applicationsRpc].flatMap((group) => Object.values(group));
const SHOP = application.parse({
  id: 'shop',
  name: 'Shop',
  appKey: 'key',
  masterKey: 'master',
  settings: {},
  createdAt: '2026-01-01T00:00:00.000Z',
});

let services: FakeTransport;
let folder: string;
let socket: ServedOperators;
beforeEach(async () => {
  services = new FakeTransport();
  folder = mkdtempSync(join(tmpdir(), 'gatepost-'));
  socket = await serveOperators(operatorSocketPath(folder), CONTRACTS, () => services);
});
afterEach(async () => {
  await socket.close();
  rmSync(folder, { recursive: true });
});

/** Runs a command on a standalone server whose services are planned. */
async function gatepost(...args: string[]) {
  let [stdout, stderr] = ['', ''];
  const status = await runGatepost(args, {
    env: { GATEPOST_DATA_DIR: folder },
    readInput: () => Buffer.from(''),
    openInput: () => Readable.from([]),
    writeOutput: (text) => (stdout += text),
    writeError: (text) => (stderr += text),
  });
  return { status, stdout, stderr };
}

describe('the time for which old keys are kept', () => {
  const rotateKeys = (...option: string[]) => {
    services.answer(applicationsRpc.rotateKeys, () => ({ application: SHOP }));
    return gatepost('apps', 'rotate-keys', 'shop', '--app-key', ...option);
  };

  it.each([
    ['30m', 1_800],
    ['12h', 43_200],
    ['90d', 7_776_000],
    ['until-revoked', null],
  ])('%s', async (text, keepOldSeconds) => {
    expect(await rotateKeys('--keep-old', text)).toMatchObject({ status: 0, stderr: '' });
    expect(services.requestsOf(applicationsRpc.rotateKeys)).toMatchObject([{ id: 'shop', keepOldSeconds }]);
  });

  it('is none without the option', async () => {
    await rotateKeys();
    expect(services.requestsOf(applicationsRpc.rotateKeys)).toEqual([{ id: 'shop', appKey: true, masterKey: false }]);
  });

  it.each(['', '90', '0d', '-1d', '1w', '1.5h', 'forever', '90 d'])('is not %j', async (text) => {
    expect(await rotateKeys(`--keep-old=${text}`)).toMatchObject({ status: 1, stderr: expect.stringContaining('90d') });
    expect(services.calls).toEqual([]);
  });
});
