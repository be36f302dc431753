import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runGatepost } from '../gatepost.js';

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
