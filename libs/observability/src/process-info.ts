import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { messageOf, withTimeout } from '#errors';

/** Properties that a server reports about itself. */
export interface ServerInfo {
  readonly version: string;
  /** How far the server's clock is ahead of this process's clock, in milliseconds. */
  readonly skewMs: number;
  readonly settings?: Readonly<Record<string, string>>;
}

/** The properties, or the reason why the server did not reply. */
interface ServerReport {
  readonly name: string;
  readonly problem: string | null;
  readonly facts: ServerInfo | null;
}

type Setting = string | number | boolean | null;

const ANSWER_TIMEOUT_MS = 3_000;

/** Collects diagnostics of a process for operators. Parts register their properties; none of them is secret. */
@Injectable()
export class ProcessInfo {
  /** Distinguishes this process from other replicas of its service. */
  readonly instance = randomUUID();
  readonly #servers: (() => ReadonlyMap<string, () => Promise<ServerInfo>>)[] = [];
  readonly #settings = new Map<string, () => Setting>();

  /** @param ask requests the current properties from the server */
  server(name: string, ask: () => Promise<ServerInfo>): void {
    this.serversOf(() => new Map([[name, ask]]));
  }

  /** Servers of a group whose members change. @param list returns the current members, each with the request for its properties */
  serversOf(list: () => ReadonlyMap<string, () => Promise<ServerInfo>>): void {
    this.#servers.push(list);
  }

  setting(name: string, value: () => Setting): void {
    this.#settings.set(name, value);
  }

  servers(): Promise<ServerReport[]> {
    return Promise.all(
      this.#servers
        .flatMap((list) => [...list()])
        .map(async ([name, ask]) => {
          try {
            return { name, problem: null, facts: await withTimeout(ask(), ANSWER_TIMEOUT_MS, throwNoAnswer) };
          } catch (error) {
            return { name, problem: messageOf(error), facts: null };
          }
        }),
    );
  }

  settings(): Record<string, Setting> {
    return Object.fromEntries([...this.#settings].map(([name, value]) => [name, value()]));
  }
}

/** How far a clock is ahead that returned `at` between two local times. @param asked local time of the request, by `Date.now()` */
export function skewOf(at: number, asked: number, answered: number): number {
  return Math.round(at - (asked + answered) / 2);
}

function throwNoAnswer(): never {
  throw new Error('no answer');
}
