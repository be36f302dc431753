import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { expect, it } from 'vitest';
import { Metrics } from '#observability';
import { PasswordHasher } from '#security/passwords';

const THREADS = '/proc/self/task';

/** The priority of each thread of this process, on Linux. */
function nicenessOfThreads(): number[] {
  if (!existsSync(THREADS)) return [];
  // After the thread's name, which is in parentheses: the 17th field.
  return readdirSync(THREADS).map((id) =>
    Number(readFileSync(`${THREADS}/${id}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[16]),
  );
}

const newHasher = () =>
  new PasswordHasher({ passwordCost: 4, passwordQueueLimit: 1, passwordConcurrency: 1 }, new Metrics());

it.runIf(existsSync(THREADS))(
  'a hashing thread has a lower priority, and never a higher one than the process was started with',
  async () => {
    const first = newHasher();
    await first.hash('secret');
    expect(nicenessOfThreads()).toContain(10);
    await first.onApplicationShutdown();
    await expect.poll(nicenessOfThreads).not.toContain(10);
    // For new threads of this one, and until the process of this file ends: only root could raise it again.
    setPriority(15);
    const second = newHasher();
    await expect(second.hash('secret')).resolves.toMatch(/^bcrypt/);
    expect(nicenessOfThreads()).not.toContain(10);
    await second.onApplicationShutdown();
  },
);
