import { type ArgumentsHost, Logger } from '@nestjs/common';
import { lastValueFrom } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { WireErrorFilter } from './handlers.js';

const hostOf = (data: unknown) => ({ switchToRpc: () => ({ getData: () => data }) }) as unknown as ArgumentsHost;
const pass = (thrown: unknown, data: unknown = {}) => lastValueFrom(new WireErrorFilter().catch(thrown, hostOf(data)));

describe('WireErrorFilter', () => {
  const error = vi.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
  const warn = vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);

  afterEach(() => {
    vi.clearAllMocks();
  });

  it('passes an AppError through unchanged, and logs nothing', async () => {
    const usernameTaken = appError('USERNAME_TAKEN');
    await expect(pass(usernameTaken)).rejects.toBe(usernameTaken);
    expect(error).not.toHaveBeenCalled();
  });

  it('logs an unknown error with the id of the HTTP request, and hides its text', async () => {
    const bug = new TypeError('secret');
    await expect(pass(bug, { caller: { requestId: 'request-1' } })).rejects.toMatchObject({
      errorName: 'INTERNAL',
      message: 'Internal server error. No information available.',
    });
    expect(error).toHaveBeenCalledExactlyOnceWith(bug, { requestId: 'request-1' });
  });

  it("logs a failed event under the event's id", async () => {
    await expect(pass(new Error('no'), { id: 'event-1', payload: {} })).rejects.toThrow();
    expect(error).toHaveBeenCalledExactlyOnceWith(expect.any(Error), { messageId: 'event-1' });
  });

  it('names the request that caused an event, where it is known', async () => {
    await expect(pass(new Error('no'), { id: 'event-1', requestId: 'request-1', payload: {} })).rejects.toThrow();
    expect(error).toHaveBeenCalledExactlyOnceWith(expect.any(Error), { messageId: 'event-1', requestId: 'request-1' });
  });

  it('ignores ids of another kind', async () => {
    await expect(pass(new Error('no'), { id: 'application-1' })).rejects.toThrow();
    expect(error).toHaveBeenCalledExactlyOnceWith(expect.any(Error), {});
  });

  it('warns of an unavailable server, with the reason that the client does not see', async () => {
    await expect(pass(appError('SERVICE_UNAVAILABLE', { cause: new Error('ECONNREFUSED') }))).rejects.toThrow();
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('ECONNREFUSED'), {});
  });
});
