import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rpc } from '#contracts';
import { OperatorSocket, serveOperators } from './operator-socket.js';
import { encodeRequest } from './transport.js';

const allowed = rpc('sample.allowed', z.object({}), z.object({}));
const request = (pattern: string) => encodeRequest({ pattern, data: {} });

describe('the operator socket', () => {
  let folder: string;
  let path: string;
  const serve = () => serveOperators(path, [allowed], () => ({ request: () => Promise.resolve('{"data":1}') }));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatepost-socket-'));
    path = join(folder, 'socket');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('replies to the RPCs of operators, and to no others', async () => {
    const served = await serve();
    const socket = await OperatorSocket.open(path);
    expect(await socket?.request(allowed.pattern, request(allowed.pattern), 1_000)).toBe('{"data":1}');
    expect(await socket?.request('sample.other', request('sample.other'), 1_000)).toContain('FORBIDDEN');
    await served.close();
  });

  it('is accessible to its owner only', async () => {
    const served = await serve();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await served.close();
  });

  it('ends connections that are idle when it closes', async () => {
    const served = await serve();
    const idle = await OperatorSocket.open(path);
    await served.close();
    await expect(idle?.request(allowed.pattern, request(allowed.pattern), 1_000)).rejects.toMatchObject({
      errorName: 'SERVICE_UNAVAILABLE',
    });
    expect(await OperatorSocket.open(path)).toBeUndefined();
  });

  it('ends a request that gets no reply in time', async () => {
    const served = await serveOperators(path, [allowed], () => ({ request: () => new Promise(() => undefined) }));
    const socket = await OperatorSocket.open(path);
    await expect(socket?.request(allowed.pattern, request(allowed.pattern), 50)).rejects.toMatchObject({
      errorName: 'SERVICE_UNAVAILABLE',
      message: 'The server did not answer in time.',
    });
    await served.close();
  });

  it('stays open between two requests for longer than the time that a reply may take', async () => {
    const served = await serve();
    const socket = await OperatorSocket.open(path);
    expect(await socket?.request(allowed.pattern, request(allowed.pattern), 50)).toBe('{"data":1}');
    await sleep(200);
    expect(await socket?.request(allowed.pattern, request(allowed.pattern), 50)).toBe('{"data":1}');
    await served.close();
  });

  it('is distinguished from a socket that cannot be used', async () => {
    writeFileSync(join(folder, 'file'), '');
    await expect(OperatorSocket.open(join(folder, 'file', 'socket'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
