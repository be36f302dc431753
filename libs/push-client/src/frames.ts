import type { PushMessage } from './push-client.types.js';

/** The sub-protocol: JSON text in both directions. */
export const PROTOCOL = 'gatepost.push.v1';
export const HEARTBEAT = '{}';

/** A frame from the server. */
export type ServerFrame =
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

export function loginFrame(appId: string, installationId: string, seen: readonly string[]): string {
  return JSON.stringify({ cmd: 'login', appId, installationId, seen });
}

export function ackFrame(ids: readonly string[]): string {
  return JSON.stringify({ cmd: 'ack', ids });
}

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

/** A number that is not negative. */
function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
