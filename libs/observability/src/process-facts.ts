import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { messageOf } from '#errors';

/** What a server that the process uses says of itself. */
export interface ServerFacts {
  readonly version: string;
  /** How far its clock is ahead of ours, in milliseconds. */
  readonly skewMs: number;
  readonly settings?: Readonly<Record<string, string>>;
}

/** The same, or why it could not be asked. */
interface ServerReport {
  readonly name: string;
  readonly problem: string | null;
  readonly facts: ServerFacts | null;
}

type Setting = string | number | boolean | null;

const ANSWER_TIMEOUT_MS = 3_000;

/** Collects what a process can tell operators of itself. Parts say what they know; nothing here is a secret. */
@Injectable()
export class ProcessFacts {
  /** Tells this process from others of its service. */
  readonly instance = randomUUID();
  readonly #servers: (() => ReadonlyMap<string, () => Promise<ServerFacts>>)[] = [];
  readonly #settings = new Map<string, () => Setting>();

  /** @param ask what the server says now */
  server(name: string, ask: () => Promise<ServerFacts>): void {
    this.serversOf(() => new Map([[name, ask]]));
  }

  /** Servers of a group whose members come and go. @param list those of now, each with what the server says */
  serversOf(list: () => ReadonlyMap<string, () => Promise<ServerFacts>>): void {
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
            return { name, problem: null, facts: await inTime(ask()) };
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

/** How far a clock is ahead that said `at` between two moments of ours. @param asked when, by `Date.now()` */
export function skewOf(at: number, asked: number, answered: number): number {
  return Math.round(at - (asked + answered) / 2);
}

function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('no answer'));
    }, ANSWER_TIMEOUT_MS);
  });
  return Promise.race([answer, timeout]).finally(() => {
    clearTimeout(timer);
  });
}
