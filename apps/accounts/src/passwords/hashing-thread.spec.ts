import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { describe, expect, it } from 'vitest';
import { HashingThread } from './password-hasher.js';

const THREADS = '/proc/self/task';

/** The priority of each thread of this process, on Linux. */
function nicenessOfThreads(): number[] {
  if (!existsSync(THREADS)) return [];
  // After the thread's name, which is in parentheses: the 17th field.
  return readdirSync(THREADS).map((id) =>
    Number(readFileSync(`${THREADS}/${id}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[16]),
  );
}

describe('a HashingThread', () => {
  it('hashes, and compares with its hash', async () => {
    const thread = new HashingThread();
    const hash = String(await thread.run({ text: 'secret', cost: 4 }));
    expect([await thread.run({ text: 'secret', hash }), await thread.run({ text: 'other', hash })]).toEqual([
      true,
      false,
    ]);
    thread.end();
  });

  it('passes on the error of bcrypt', async () => {
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

  it('works where the process was started with a lower priority than the thread would get', async () => {
    // For new threads of this one, and until the process of this file ends: only root could raise it again.
    setPriority(15);
    const thread = new HashingThread();
    await expect(thread.run({ text: 'secret', cost: 4 })).resolves.toMatch(/^\$2/);
    // Threads of the tests before may take a moment to end.
    await expect.poll(nicenessOfThreads).not.toContain(10);
    thread.end();
  });
});
