import type { MessageRef } from '../device-queues/device-queues.js';
import type { ServerFrame } from './framings/framing.js';

/** What a session wants done, in this order. */
export type Effect =
  | { readonly kind: 'send'; readonly frame: ServerFrame }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }
  /** Without a farewell: nobody is there. */
  | { readonly kind: 'terminate' }
  /** The session shall become the device's only one. */
  | { readonly kind: 'connect' }
  /** The beginning of the device's queue is wanted. */
  | { readonly kind: 'peek' }
  | { readonly kind: 'acknowledge'; readonly refs: readonly MessageRef[]; readonly droppedTold: number };

/** Why we close a socket: codes of RFC 6455 and those that clients know. 4100 and 4103 tell leancloud-realtime not to come back. */
export const CLOSE = {
  restart: 1012,
  malformed: 1007,
  internal: 1011,
  unknownApplication: 4100,
  invalidLogin: 4103,
  readTimeout: 4107,
  loginTimeout: 4108,
  conflict: 4111,
  tooFast: 4116,
} as const;

/** Codes that clients, browsers and the network end connections with: they left, went to another page, said nothing, sent too much. */
const CLOSED_BY_OTHERS = [1000, 1001, 1005, 1006, 1009];
const TOLD: ReadonlySet<number> = new Set([...CLOSED_BY_OTHERS, ...Object.values(CLOSE)]);

/** How a code is called in metrics. A client can close with any of some thousand codes, which would be as many series. */
export function toldCode(code: number): string {
  return TOLD.has(code) ? String(code) : 'other';
}

export const UNKNOWN_APPLICATION = 'There is no such application.';
