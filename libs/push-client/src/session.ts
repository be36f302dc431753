import type { PushMessage, WebSocketLike } from './push-client.types.js';

/** The sub-protocol: JSON text in both directions. */
export const PROTOCOL = 'gatepost.push.v1';
const HEARTBEAT = '{}';

type ServerFrame =
  | { readonly cmd: 'heartbeat' }
  /** The times are undefined where the frame has none. `serverTime` is in milliseconds since 1970. */
  | {
      readonly cmd: 'loggedin';
      readonly heartbeatSeconds: number | undefined;
      readonly serverTime: number | undefined;
    }
  | { readonly cmd: 'data'; readonly messages: readonly PushMessage[] }
  | { readonly cmd: 'gap'; readonly id: string; readonly dropped: number }
  | { readonly cmd: 'goaway'; readonly retryAfterMs: number; readonly reason: string }
  | { readonly cmd: 'error'; readonly code: number; readonly reason: string };

const PARSERS: Readonly<Record<string, (frame: Record<string, unknown>) => ServerFrame>> = {
  loggedin: (frame) => ({
    cmd: 'loggedin',
    heartbeatSeconds: numberOf(frame['heartbeatSeconds']),
    serverTime: numberOf(frame['serverTime']),
  }),
  data: (frame) => ({ cmd: 'data', messages: messagesOf(frame['ids'], frame['msg']) }),
  gap: (frame) => ({ cmd: 'gap', id: textOf(frame['id']), dropped: numberOf(frame['dropped']) ?? 0 }),
  goaway: (frame) => ({
    cmd: 'goaway',
    retryAfterMs: numberOf(frame['retryAfterMs']) ?? 0,
    reason: textOf(frame['reason']),
  }),
  error: (frame) => ({ cmd: 'error', code: numberOf(frame['code']) ?? 0, reason: textOf(frame['reason']) }),
};

const CONNECT_MS = 20_000;
/** The server delays the login reply by up to 30 seconds where clients end each other's sessions. */
const LOGIN_MS = 45_000;
/** For the reply to a heartbeat that the application caused. */
const PROBE_MS = 5_000;
const DEFAULT_HEARTBEAT_SECONDS = 30;
/** Acknowledgements are sent together: after this delay, or at the maximum number. */
const ACK_DELAY_MS = 40;
const ACK_BATCH = 16;
const OPEN = 1;
const NORMAL = 1000;
/** A close code of the range for applications; a server never sends it. */
const NOTHING_HEARD = 4900;
const TOO_MUCH = 4901;

export interface SessionEnd {
  /** The close code; 1006 where the connection was lost. */
  readonly code: number;
  readonly reason: string;
  /** How long the device was logged in; undefined where it never was. */
  readonly heldMs: number | undefined;
  readonly retryAfterMs: number | undefined;
}

interface SessionOptions {
  readonly login: string;
  readonly onLoggedIn: (frame: Extract<ServerFrame, { cmd: 'loggedin' }>) => void;
  readonly onMessages: (frame: Extract<ServerFrame, { cmd: 'data' }>, acknowledge: (id: string) => void) => boolean;
  readonly onGap: (dropped: number) => void;
  readonly onError: (error: Error) => void;
}

export class Session {
  readonly ended: Promise<SessionEnd>;
  #end: (end: SessionEnd) => void = () => undefined;
  #isOver = false;
  #deadline: ReturnType<typeof setTimeout> | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #ackTimer: ReturnType<typeof setTimeout> | undefined;
  #acks: string[] = [];
  #hasHeard = true;
  #ignoresMessages = false;
  #loggedInAt: number | undefined;
  #retryAfterMs: number | undefined;

  constructor(
    private readonly socket: WebSocketLike,
    private readonly options: SessionOptions,
  ) {
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.#expectWithin(CONNECT_MS);
    socket.addEventListener('open', () => {
      if (this.#isOver) return;
      this.#expectWithin(LOGIN_MS);
      socket.send(options.login);
    });
    socket.addEventListener('message', ({ data }) => {
      if (!this.#isOver) this.#hear(data);
    });
    socket.addEventListener('close', ({ code, reason }) => {
      this.#finish(code, reason);
    });
    // The close event that follows reports the failure.
    socket.addEventListener('error', () => undefined);
  }

  close(code = NORMAL, reason = ''): void {
    if (this.#isOver) return;
    this.#sendAcks();
    this.socket.close(code, reason);
    // The server may be unreachable, so the client does not wait for its close frame.
    this.#finish(code, reason);
  }

  /** Closes a connection on which nothing arrives soon. */
  probe(): void {
    if (this.#isOver || this.#loggedInAt === undefined || this.#deadline !== undefined) return;
    this.#expectWithin(PROBE_MS);
    if (this.socket.readyState === OPEN) this.socket.send(HEARTBEAT);
  }

  /** Leaves messages and gaps that arrive from now on at the server, which repeats what is not acknowledged. */
  ignoreMessages(): void {
    this.#ignoresMessages = true;
  }

  #hear(data: unknown): void {
    this.#hasHeard = true;
    if (this.#loggedInAt !== undefined) this.#expectNothing();
    const frame = parseFrame(data);
    const isIgnored = this.#ignoresMessages && (frame?.cmd === 'data' || frame?.cmd === 'gap');
    if (frame !== undefined && !isIgnored) this.#handle(frame);
  }

  #handle(frame: ServerFrame): void {
    switch (frame.cmd) {
      case 'heartbeat':
        return;
      case 'loggedin':
        this.#logIn(frame);
        return;
      case 'data':
        if (!this.options.onMessages(frame, this.#acknowledge))
          this.close(TOO_MUCH, 'too many unacknowledged messages');
        return;
      case 'gap':
        this.options.onGap(frame.dropped);
        this.#acknowledge(frame.id);
        return;
      case 'goaway':
        this.#retryAfterMs = frame.retryAfterMs;
        this.close(NORMAL, 'goaway');
        return;
      case 'error':
        this.options.onError(new Error(`the server reports ${frame.code}: ${frame.reason}`));
    }
  }

  #logIn(frame: Extract<ServerFrame, { cmd: 'loggedin' }>): void {
    this.#expectNothing();
    clearInterval(this.#heartbeat);
    this.#loggedInAt = performance.now();
    const seconds = frame.heartbeatSeconds ?? DEFAULT_HEARTBEAT_SECONDS;
    this.#heartbeat = setInterval(() => {
      this.#beat();
    }, seconds * 1_000);
    this.options.onLoggedIn(frame);
  }

  /** A connection is dead where nothing has arrived since the last heartbeat. */
  #beat(): void {
    if (!this.#hasHeard) {
      this.close(NOTHING_HEARD, 'nothing heard');
      return;
    }
    this.#hasHeard = false;
    if (this.socket.readyState === OPEN) this.socket.send(HEARTBEAT);
  }

  readonly #acknowledge = (id: string): void => {
    if (this.#isOver) return;
    this.#acks.push(id);
    if (this.#acks.length >= ACK_BATCH) {
      this.#sendAcks();
      return;
    }
    this.#ackTimer ??= setTimeout(() => {
      this.#sendAcks();
    }, ACK_DELAY_MS);
  };

  #sendAcks(): void {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    if (this.#acks.length === 0 || this.socket.readyState !== OPEN) return;
    this.socket.send(ackFrame(this.#acks));
    this.#acks = [];
  }

  #expectWithin(timeoutMs: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => {
      this.close(NOTHING_HEARD, 'no answer');
    }, timeoutMs);
  }

  #expectNothing(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  #finish(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#ackTimer);
    clearInterval(this.#heartbeat);
    const heldMs = this.#loggedInAt === undefined ? undefined : performance.now() - this.#loggedInAt;
    this.#end({ code, reason, heldMs, retryAfterMs: this.#retryAfterMs });
  }
}

export function loginFrame(appId: string, installationId: string, seen: readonly string[]): string {
  return JSON.stringify({ cmd: 'login', appId, installationId, seen });
}

export function ackFrame(ids: readonly string[]): string {
  return JSON.stringify({ cmd: 'ack', ids });
}

/** @returns undefined for unknown frames, which newer servers may send */
export function parseFrame(text: unknown): ServerFrame | undefined {
  const frame = parseObject(text);
  if (frame === undefined) return undefined;
  const { cmd } = frame;
  if (cmd === undefined) return { cmd: 'heartbeat' };
  return typeof cmd === 'string' && Object.hasOwn(PARSERS, cmd) ? PARSERS[cmd]?.(frame) : undefined;
}

/** `ids[i]` belongs to `msg[i]`. */
function messagesOf(ids: unknown, bodies: unknown): PushMessage[] {
  if (!Array.isArray(ids) || !Array.isArray(bodies)) return [];
  return ids
    .slice(0, bodies.length)
    .map((id: unknown, index) => messageOf(textOf(id), bodies[index]))
    .filter(({ id }) => id !== '');
}

function messageOf(id: string, body: unknown): PushMessage {
  const data = isObject(body) ? body : {};
  return { id, data, expiresAt: timeOf(data['_expiration_time']) };
}

/** Parses `2030-01-01T00:00:00.000Z`, or milliseconds since 1970. */
function timeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return numberOf(value);
  if (typeof value !== 'string') return undefined;
  return numberOf(/^\d+$/.test(value) ? Number(value) : Date.parse(value));
}

function parseObject(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
