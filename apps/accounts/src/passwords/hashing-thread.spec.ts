import { describe, expect, it } from 'vitest';
import { HashingThread } from './hashing-thread.js';

describe('a HashingThread', () => {
  it('hashes, and compares with what it made', async () => {
    const thread = new HashingThread();
    const hash = String(await thread.run({ text: 'secret', cost: 4 }));
    expect([await thread.run({ text: 'secret', hash }), await thread.run({ text: 'other', hash })]).toEqual([
      true,
      false,
    ]);
    thread.end();
  });

  it('tells what bcrypt refuses', async () => {
    const thread = new HashingThread();
    await expect(thread.run({ text: 'secret', cost: 'no cost' as never })).rejects.toThrow(/^bcrypt: /);
    thread.end();
  });

  it('fails the job in hand when it ends', async () => {
    const thread = new HashingThread();
    const job = thread.run({ text: 'secret', cost: 12 });
    thread.end();
    await expect(job).rejects.toThrow('the hashing thread has ended');
  });
});
