import { Logger } from '@nestjs/common';
import type { MessageHandler } from '@nestjs/microservices';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Metrics } from '#observability';
import { answerRequest, refuseRequest } from './handlers.js';
import { encodeRequest } from './transport.js';

/** Maximum size of a message (libs/messaging/README.md). */
const MAX_MESSAGE_BYTES = 12 * 1_024 * 1_024;

const returning = (value: unknown) => (() => Promise.resolve(value)) as MessageHandler;

describe('answering a request', () => {
  const error = vi.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
  const warn = vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
  const outcomesOf = async ({ rpcHandled }: Metrics) =>
    (await rpcHandled.get()).values
      .filter(({ metricName }) => metricName.endsWith('_count'))
      .map(({ labels }) => labels);
  const asked = encodeRequest({ pattern: 'sample.echo', data: {} });

  afterEach(() => {
    vi.clearAllMocks();
  });

  it.each(['', 'no json', '[]', '{"pattern":1}'])('reports the invalid request %j once', async (text) => {
    expect(await answerRequest(text, () => null)).toContain('INTERNAL');
    expect(error).toHaveBeenCalledExactlyOnceWith(expect.any(Error), {});
  });

  it('reports that there is no handler', async () => {
    const metrics = new Metrics();
    expect(await answerRequest(asked, () => null, metrics.rpcHandled)).toContain('SERVICE_UNAVAILABLE');
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('no handler for sample.echo'), {});
    expect(await outcomesOf(metrics)).toEqual([{ pattern: 'malformed', outcome: 'SERVICE_UNAVAILABLE' }]);
  });

  it('reports and counts a refused request', async () => {
    const metrics = new Metrics();
    expect(refuseRequest('too many requests in hand', metrics.rpcHandled)).toContain('SERVICE_UNAVAILABLE');
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('too many requests'), {});
    expect(await outcomesOf(metrics)).toEqual([{ pattern: 'refused', outcome: 'SERVICE_UNAVAILABLE' }]);
  });

  it("leaves a handler's own errors to its filter", async () => {
    await answerRequest(asked, () => () => Promise.reject(new Error('reported already')));
    expect(error).not.toHaveBeenCalled();
  });

  it('is an error where the reply is not JSON, or too long for a message', async () => {
    expect(await answerRequest(asked, () => returning(1n))).toContain('INTERNAL');
    expect(error).toHaveBeenCalledOnce();
    expect(await answerRequest(asked, () => returning('x'.repeat(MAX_MESSAGE_BYTES)))).toContain('OBJECT_TOO_LARGE');
  });
});
