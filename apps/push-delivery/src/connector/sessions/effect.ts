import type { MessageRef } from '../../device-queues/device-queues.js';
import type { ServerFrame } from '../framings/server-frame.js';

/** What a session wants done, in this order. */
export type Effect =
  | { readonly kind: 'send'; readonly frame: ServerFrame }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }
  /** Without a farewell: nobody is there. */
  | { readonly kind: 'cutOff' }
  /** The session shall become the device's only one. */
  | { readonly kind: 'connect' }
  /** The beginning of the device's queue is wanted. */
  | { readonly kind: 'peek' }
  | { readonly kind: 'acknowledge'; readonly refs: readonly MessageRef[]; readonly droppedTold: number };
