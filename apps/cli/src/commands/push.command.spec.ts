import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { consoleRpc, pushOperationsRpc } from '#contracts';
import { appError } from '#errors';
import { FakeTransport } from '#testing';
import { AuditedRpcClient } from '../audited-calls.js';
import * as terminal from '../terminal.js';
import { pushCommand } from './push.command.js';

const { getStatus, send } = pushOperationsRpc;
const SENT = { objectId: '6743f1a2c9e77b0a4f1d2c3b', createdAt: '2026-01-31T12:00:00.000Z' };

let services: FakeTransport;
let printed: string[];
beforeEach(() => {
  printed = [];
  vi.spyOn(terminal, 'print').mockImplementation((line) => void printed.push(line));
  services = new FakeTransport()
    .answer(consoleRpc.beginAction, () => ({ id: randomUUID() }))
    .answer(consoleRpc.endAction, () => ({}));
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function push(...options: string[]): Promise<unknown[]> {
  const rpc = new AuditedRpcClient(services, () => Promise.resolve(true));
  const command = pushCommand((work) => work(rpc, {} as never));
  await command.parseAsync(['send', 'shop', '--all', '--alert', 'hello', ...options], { from: 'user' });
  return services.requestsOf(send).map(({ body }) => body['req_id']);
}

describe('a push without a reply', () => {
  it('is repeated with the same request id, so that the service sends it once', async () => {
    let calls = 0;
    services.answer(send, () => {
      calls += 1;
      if (calls === 1) throw appError('SERVICE_UNAVAILABLE');
      return SENT;
    });
    const [first, second, ...others] = await push();
    expect([second, others]).toEqual([first, []]);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(printed).toEqual([SENT.objectId]);
  });

  it('names the request id of a safe repetition', async () => {
    services.fail(send, appError('SERVICE_UNAVAILABLE'));
    await expect(push('--req-id', 'mine')).rejects.toThrow(/unknown whether .* --req-id mine/);
    expect(services.requestsOf(send)).toHaveLength(2);
  });

  it('is not repeated where the service refuses it', async () => {
    services.fail(send, appError('INCORRECT_TYPE'));
    await expect(push()).rejects.toMatchObject({ errorName: 'INCORRECT_TYPE' });
    expect(services.requestsOf(send)).toHaveLength(1);
  });
});

describe('the time of a push', () => {
  const stderr = () => vi.spyOn(process.stderr, 'write').mockImplementation(() => true);

  it.each(['2099-01-31T12:00:00Z', '2099-01-31T20:00:00.000+08:00', '2099-01-31T20:00:00+0800'])(
    'may be %s',
    async (time) => {
      services.answer(send, () => SENT);
      await push('--at', time);
      expect(services.requestsOf(send)).toMatchObject([{ body: { push_time: time } }]);
    },
  );

  it.each([
    ['past, as the push would be sent at once', '2026-01-31T12:00:00Z', 'past'],
    ['a date', '2099-01-31', 'zone'],
    ['without a zone', '2099-01-31T12:00:00', 'zone'],
  ])('is refused where it is %s', async (_, time, problem) => {
    const written = stderr();
    vi.spyOn(process, 'exit').mockImplementation(() => {
      throw new Error('exit');
    });
    await expect(push('--at', time)).rejects.toThrow('exit');
    expect(String(written.mock.calls)).toContain(problem);
    expect(services.requestsOf(send)).toEqual([]);
  });
});

it('a count of a push begins at 1, which the refusal of 0 says', async () => {
  const written = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  vi.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('exit');
  });
  await expect(push('--expires-in', '0')).rejects.toThrow('exit');
  expect(String(written.mock.calls)).toContain('Expected a whole number from 1 on.');
});

it('the status of a scheduled push says when it is due', async () => {
  const times = { createdAt: SENT.createdAt, dueAt: '2026-02-01T08:00:00.000Z', expiresAt: '2026-02-08T08:00:00.000Z' };
  services.answer(getStatus, () => ({
    ...times,
    objectId: SENT.objectId,
    status: 'scheduled' as const,
    error: null,
    foundAt: null,
    requestId: null,
    flowControl: null,
    progress: { partition: 0, of: 64 as const },
    platforms: {},
    vendors: {},
  }));
  await pushCommand((work) =>
    work(new AuditedRpcClient(services, () => Promise.resolve(true)), {} as never),
  ).parseAsync(['status', 'shop', SENT.objectId], { from: 'user' });
  expect(printed).toEqual([
    `Id            ${SENT.objectId}`,
    'Status        scheduled',
    `Accepted      ${times.createdAt}`,
    `Due           ${times.dueAt}`,
    `Expires       ${times.expiresAt}`,
  ]);
});
