import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Metrics } from '#observability';
import { PasswordHasher } from '#security/passwords';

const LIMITS = { passwordCost: 4, passwordQueueLimit: 1, passwordConcurrency: 1 };

/** Hashes with a low priority of its own, and stays until its input ends. */
const PROGRAM = `
import { setPriority } from 'node:os';
import { Metrics } from '#observability';
import { PasswordHasher } from '#security/passwords';
setPriority(15);
const hasher = new PasswordHasher(${JSON.stringify(LIMITS)}, new Metrics());
process.stdout.write(await hasher.hash('secret'));
process.stdin.resume().once('end', () => hasher.onApplicationShutdown());
`;

/** The priority of each thread of a process, on Linux. */
function nicenessOfThreads(pid: number): number[] {
  const threads = `/proc/${pid}/task`;
  // After the thread's name, which is in parentheses: the 17th field.
  return readdirSync(threads).map((id) =>
    Number(readFileSync(`${threads}/${id}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[16]),
  );
}

describe.runIf(existsSync('/proc/self/task'))('a hashing thread', () => {
  it('has a lower priority than its process', async () => {
    const hasher = new PasswordHasher(LIMITS, new Metrics());
    await hasher.hash('secret');
    expect(nicenessOfThreads(process.pid)).toContain(10);
    await hasher.onApplicationShutdown();
    await expect.poll(() => nicenessOfThreads(process.pid)).not.toContain(10);
  });

  it('has never a higher priority than the process was started with', async () => {
    // A process of its own: only root could raise the priority again.
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      cwd: join(import.meta.dirname, '../../..'),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [hash] = (await once(child.stdout, 'data')) as [Buffer];
    expect(hash.toString()).toMatch(/^bcrypt/);
    expect(nicenessOfThreads(child.pid ?? 0)).toContain(15);
    expect(nicenessOfThreads(child.pid ?? 0)).not.toContain(10);
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
