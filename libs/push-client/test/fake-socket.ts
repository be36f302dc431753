import { vi } from 'vitest';

/** The connector of clients that need no server. */
export const URL = 'ws://connector.test/push';

interface Listeners {
  open: () => void;
  error: () => void;
  message: (event: { data: unknown }) => void;
  close: (event: { code: number; reason: string }) => void;
}

/** The server's side of a socket. */
export class FakeSocket {
  static all: FakeSocket[] = [];
  readyState = 0;
  readonly sent: Record<string, unknown>[] = [];
  closed: number | undefined;
  readonly #listeners: Partial<Listeners> = {};

  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    FakeSocket.all.push(this);
  }

  static get last(): FakeSocket {
    const socket = FakeSocket.all.at(-1);
    if (socket === undefined) throw new Error('no connection yet');
    return socket;
  }

  addEventListener<Name extends keyof Listeners>(name: Name, listener: Listeners[Name]): void {
    this.#listeners[name] = listener;
  }

  send(data: string): void {
    this.sent.push(JSON.parse(data) as Record<string, unknown>);
  }

  close(code?: number): void {
    this.readyState = 3;
    this.closed = code;
  }

  async opens(): Promise<void> {
    this.readyState = 1;
    this.#listeners.open?.();
    await says({ cmd: 'loggedin', heartbeatSeconds: 60 });
  }

  hears(frame: unknown): void {
    this.#listeners.message?.({ data: JSON.stringify(frame) });
  }

  breaks(code = 1006, reason = ''): void {
    this.readyState = 3;
    this.#listeners.close?.({ code, reason });
  }

  get acknowledged(): unknown {
    return this.sent.filter(({ cmd }) => cmd === 'ack').flatMap(({ ids }) => ids as string[]);
  }
}

/** Waits until all chains of promises have ended. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await vi.advanceTimersByTimeAsync(0);
}

/** Lets time pass. */
export async function passes(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await settled();
}

/** The client collects acknowledgements. */
export const ACKS_LEAVE_MS = 50;

/** Sends a frame on the last connection. */
export async function says(frame: unknown): Promise<void> {
  FakeSocket.last.hears(frame);
  await settled();
}

/** A frame with messages. */
export const data = (...ids: string[]): object => ({ cmd: 'data', ids, msg: ids.map((id) => ({ alert: id })) });
