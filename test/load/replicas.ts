import { expect } from 'vitest';
import { eventually, TestProcess } from '#testing';

const READY_MS = 180_000;

/** A process of a service, ready to serve. */
export interface Replica {
  readonly process: TestProcess;
  readonly port: number;
}

/** How the processes of one service are started. */
export interface ServiceStart {
  readonly app: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Starts one more process of a service, and waits until it is ready. */
export async function startReplica({ app, env }: ServiceStart): Promise<Replica> {
  const process = TestProcess.start(`dist/apps/${app}/src/main.js`, [], { ...env, GATEPOST_PORT: '0' });
  const [, port] = await process.untilLogged(/ listens on port (\d+)/, READY_MS);
  await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    if (!answer.ok) throw new Error(await answer.text());
  }, READY_MS);
  return { process, port: Number(port) };
}

/** Ends a process as an orchestrator does. */
export async function endReplica({ process }: Replica): Promise<void> {
  expect(await process.stop('SIGTERM')).toEqual({ status: 0, signal: null });
}
