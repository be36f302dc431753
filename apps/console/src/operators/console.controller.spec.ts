import { describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import type { AuditRepository, EndedAct } from '../audit/audit.repository.js';
import { ConsoleController } from './console.controller.js';
import type { OperatorsRepository } from './operators.repository.js';
import type { SignInService } from './sign-in.service.js';

describe('an act of the command line on operators', () => {
  const disable = (act: { readonly result: () => Promise<void>; readonly end: () => Promise<void> }) => {
    const ended: EndedAct[] = [];
    const end = vi.fn((_id: string, entry: EndedAct) => act.end().then(() => void ended.push(entry)));
    const operators = { get: () => Promise.resolve({ id: 'id' }), setDisabled: act.result };
    const audit = { begin: () => Promise.resolve('entry'), end };
    const controller = new ConsoleController(
      operators as unknown as OperatorsRepository,
      {} as unknown as SignInService,
      audit as unknown as AuditRepository,
    );
    return { end, ended, reply: controller.disableOperator({ address: 'a@example.com', by: 'root' }) };
  };
  const unavailable = () => Promise.reject(appError('SERVICE_UNAVAILABLE'));

  it('that is done stays open in the audit log where its outcome cannot be written, and is not called failed', async () => {
    const { reply, ended, end } = disable({
      result: () => Promise.resolve(),
      end: vi.fn().mockImplementationOnce(unavailable).mockResolvedValue(undefined),
    });
    await expect(reply).resolves.toEqual({});
    expect([ended, end.mock.calls.length]).toEqual([[], 1]);
  });

  it.each([
    ['SERVICE_UNAVAILABLE', 'unknown'],
    ['INTERNAL', 'failed'],
    ['NOT_FOUND', 'refused'],
  ] as const)('that ends with %s is %s in the audit log', async (errorName, outcome) => {
    const { reply, ended } = disable({
      result: () => Promise.reject(appError(errorName)),
      end: () => Promise.resolve(),
    });
    await expect(reply).rejects.toMatchObject({ errorName });
    expect(ended).toEqual([{ outcome, errorName }]);
  });

  it('that fails keeps its error where its outcome cannot be written', async () => {
    const { reply } = disable({ result: () => Promise.reject(appError('INTERNAL')), end: unavailable });
    await expect(reply).rejects.toMatchObject({ errorName: 'INTERNAL' });
  });
});
