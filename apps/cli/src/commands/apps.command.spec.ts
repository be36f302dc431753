import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runGatepost } from '../gatepost.js';
import { secondsOf } from './apps.command.js';

describe('the time for which old keys are kept', () => {
  it.each([
    ['30m', 1_800],
    ['12h', 43_200],
    ['90d', 7_776_000],
    ['until-revoked', null],
  ])('%s', (text, seconds) => {
    expect(secondsOf(text)).toBe(seconds);
  });

  it.each(['', '90', '0d', '-1d', '1w', '1.5h', 'forever', '90 d'])('is not %j', (text) => {
    expect(() => secondsOf(text)).toThrow('90d');
  });
});

describe('a mistake of an operator', () => {
  const run = async (...args: string[]) => {
    let stderr = '';
    const status = await runGatepost(args, {
      env: { GATEPOST_DATA_DIR: '/nonexistent' },
      readInput: () => Buffer.from(''),
      openInput: () => Readable.from([]),
      writeOutput: () => undefined,
      writeError: (text) => (stderr += text),
    });
    return { status, stderr };
  };

  it('creates no application with random keys where the keys were not exported', async () => {
    const { status, stderr } = await run('apps', 'create', 'Shop', '--id', 'shop', '--given-keys');
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^--given-keys: neither GATEPOST_APP_KEY nor /)]);
  });

  it.each(['everyone', 'users', 'nobody'])('makes no user id of the word %s', async (word) => {
    const { status, stderr } = await run('permissions', 'set', 'shop', '_User', 'find', 'role:staff', word);
    expect([status, stderr]).toEqual([1, expect.stringContaining(`"${word}" stands alone.`)]);
  });
});
