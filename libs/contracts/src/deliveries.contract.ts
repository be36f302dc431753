import { z } from 'zod';
import { appId } from './application.schema.js';
import { rpc } from './rpc.js';

/** `failed`: will be tried again. `dead`: will not. `dropped`: was no longer owed. */
export const DELIVERY_STATUSES = ['queued', 'failed', 'sent', 'dead', 'dropped'] as const;

export const MAX_DELIVERY_LIST_LIMIT = 500;

/** A mail or a text message, without what stands in it. */
const shownDelivery = z.object({
  id: z.uuid(),
  appId: z.string(),
  channel: z.enum(['mail', 'sms']),
  kind: z.string(),
  recipient: z.string(),
  /** Null where it is owed to the recipient alone. */
  userId: z.string().nullable(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.number().int(),
  /** Of the last attempt, or the reason why it was dropped. */
  lastError: z.string().nullable(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  /** Null once nothing more is tried. */
  nextAttemptAt: z.iso.datetime().nullable(),
  settledAt: z.iso.datetime().nullable(),
});

export type ShownDelivery = z.output<typeof shownDelivery>;

const reply = z.object({ delivery: shownDelivery });

/** What operators ask about mails and text messages, by the same ways as `applicationsRpc`. */
export const deliveriesRpc = {
  /** The newest first. */
  list: rpc(
    'mail.listDeliveries',
    z.object({
      appId: appId.optional(),
      status: z.enum(DELIVERY_STATUSES).optional(),
      recipient: z.string().max(254).optional(),
      limit: z.number().int().min(1).max(MAX_DELIVERY_LIST_LIMIT),
    }),
    z.object({ deliveries: z.array(shownDelivery) }),
  ),
  /** Fails with NOT_FOUND. */
  get: rpc('mail.getDelivery', z.object({ id: z.uuid() }), reply),
  /** Sends a dead delivery again. Fails with NOT_FOUND, and NO_EFFECT where it is not dead or has expired. */
  retry: rpc('mail.retryDelivery', z.object({ id: z.uuid() }), reply),
  /** The same for the dead ones that have not expired, some at a time: none is left once it says 0. */
  retryDead: rpc(
    'mail.retryDeadDeliveries',
    z.object({ appId: appId.optional() }),
    z.object({ retried: z.number().int() }),
  ),
};
