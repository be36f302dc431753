import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { withTimeLimit } from './outbound-client.js';

const LIMIT_MS = 200;

describe('withTimeLimit', () => {
  it('aborts at the time limit while garbage is collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const collecting = setInterval(collect, 20);
    const aborted = once(withTimeLimit(new AbortController().signal, LIMIT_MS), 'abort');
    const late = new Promise((resolve) => setTimeout(resolve, 10 * LIMIT_MS, 'late'));
    expect(await Promise.race([aborted.then(() => 'aborted'), late])).toBe('aborted');
    clearInterval(collecting);
  });

  it('aborts with the signal, before the time limit', () => {
    const controller = new AbortController();
    const limited = withTimeLimit(controller.signal, 60_000);
    controller.abort();
    expect(limited.aborted).toBe(true);
  });
});
