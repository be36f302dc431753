import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { applicationsRpc, consoleRpc } from '#contracts';
import { appError } from '#errors';
import { FakeTransport } from '#testing';
import { AuditedRpcClient } from './audited-calls.js';

const CHANGE = { id: 'shop', name: 'hideContact', value: 'true' } as const;
const ENTRY = { action: 'importObjects', appId: 'shop', change: { files: ['export'] } };

let services: FakeTransport;
let rpc: AuditedRpcClient;
beforeEach(() => {
  services = new FakeTransport()
    .answer(consoleRpc.beginAction, () => ({ id: randomUUID() }))
    .answer(consoleRpc.endAction, () => ({}));
  rpc = new AuditedRpcClient(services, () => Promise.resolve(true));
});

const entries = () => services.requestsOf(consoleRpc.beginAction);
const outcomes = () =>
  services.requestsOf(consoleRpc.endAction).map(({ outcome, errorName }) => [outcome, errorName].join(' ').trim());

describe('the request of a command', () => {
  const change = () => rpc.call(applicationsRpc.changeSetting, CHANGE);

  it.each([
    ['refused by the service', appError('INCORRECT_TYPE'), ['refused INCORRECT_TYPE']],
    ['failed in the service', appError('INTERNAL'), ['failed INTERNAL']],
    ['not answered', appError('SERVICE_UNAVAILABLE'), []],
  ])('%s has that outcome, or none', async (_, error, expected) => {
    services.fail(applicationsRpc.changeSetting, error);
    await expect(change()).rejects.toMatchObject({ errorName: error.errorName });
    expect(entries()).toMatchObject([{ action: 'changeSetting', appId: 'shop', target: 'hideContact' }]);
    expect(outcomes()).toEqual(expected);
  });

  it('stays open where the answer is one of another version: it may be done', async () => {
    services.answerText(applicationsRpc.changeSetting, JSON.stringify({ data: 7 }));
    await expect(change()).rejects.toThrow();
    expect([entries().length, outcomes()]).toEqual([1, []]);
  });
});

describe('work of several requests', () => {
  it.each([
    ['is done where its result is whole', true, ['done']],
    ['has failed where it was stopped', false, ['failed']],
  ])('%s', async (_, isWhole, expected) => {
    expect(await rpc.record(ENTRY, () => Promise.resolve(isWhole), Boolean)).toBe(isWhole);
    expect(entries()).toMatchObject([ENTRY]);
    expect(outcomes()).toEqual(expected);
  });

  it.each([
    ['a refusal', appError('OBJECT_TOO_LARGE'), 'failed OBJECT_TOO_LARGE'],
    ['a service that is away', appError('SERVICE_UNAVAILABLE'), 'failed SERVICE_UNAVAILABLE'],
    ['an error of the command', new Error('no such file'), 'failed'],
  ])('has failed after %s: parts of it may be done', async (_, error, expected) => {
    await expect(rpc.record(ENTRY, () => Promise.reject(error))).rejects.toBe(error);
    expect(outcomes()).toEqual([expected]);
  });
});
