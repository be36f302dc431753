import { z } from 'zod';
import { appId, daysOfApp, languageTag, MAIL_KINDS } from './application.schema.js';
import { rpc } from './messages.schema.js';

/** `failed`: another attempt follows. `dead`: no attempt follows. `dropped`: the message was no longer needed. */
export const DELIVERY_STATUSES = ['queued', 'failed', 'sent', 'dead', 'dropped'] as const;

export const MAX_DELIVERY_LIST_LIMIT = 500;

const count = z.number().int().min(0);

const deliveryAttempt = z.object({
  at: z.iso.datetime(),
  outcome: z.enum(['sent', 'failed', 'dead']),
  answer: z.string().nullable(),
});

export type DeliveryAttempt = z.output<typeof deliveryAttempt>;

const deliveryPlace = z.object({ createdAt: z.iso.datetime(), id: z.uuid() });

const shownDelivery = z.object({
  id: z.uuid(),
  appId: z.string(),
  channel: z.enum(['mail', 'sms']),
  kind: z.string(),
  recipient: z.string(),
  /** Null where the message belongs to a recipient without a user. */
  userId: z.string().nullable(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.number().int(),
  /** The last ten attempts, oldest first. */
  attemptLog: z.array(deliveryAttempt).default([]),
  /** Error of the last attempt, or the reason for a drop. */
  lastError: z.string().nullable(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  nextAttemptAt: z.iso.datetime().nullable(),
  settledAt: z.iso.datetime().nullable(),
});

export type ShownDelivery = z.output<typeof shownDelivery>;

/** `appId`: a delivery of another application is NOT_FOUND. */
const ofDelivery = z.object({ id: z.uuid(), appId: appId.optional() });
const reply = z.object({ delivery: shownDelivery });

export const deliveriesRpc = {
  /** Newest first. `counts`: add the number by status of all that the other filters select. */
  list: rpc(
    'mail.listDeliveries',
    z.object({
      appId: appId.optional(),
      status: z.enum(DELIVERY_STATUSES).optional(),
      recipient: z.string().max(254).optional(),
      kind: z.string().max(64).optional(),
      channel: z.enum(['mail', 'sms']).optional(),
      userId: z.string().max(64).optional(),
      from: z.iso.datetime().optional(),
      to: z.iso.datetime().optional(),
      after: deliveryPlace.optional(),
      counts: z.boolean().optional(),
      limit: z.number().int().min(1).max(MAX_DELIVERY_LIST_LIMIT),
    }),
    z.object({
      deliveries: z.array(shownDelivery),
      next: deliveryPlace.nullable().default(null),
      /** `isExact` false: among the newest 10,000. */
      counts: z
        .object({ byStatus: z.partialRecord(z.enum(DELIVERY_STATUSES), count), isExact: z.boolean() })
        .optional(),
    }),
  ),
  /** By the day on which a message was queued. `dead`: refused for good. Fails with QUERY_TIMED_OUT after 3 seconds. */
  countByDay: rpc(
    'mail.countDeliveriesByDay',
    daysOfApp,
    z.object({
      days: z.array(z.object({ day: z.iso.date(), sent: count, dead: count })),
    }),
  ),
  get: rpc('mail.getDelivery', ofDelivery, reply),
  /** Sends a dead delivery again. Fails with NOT_FOUND, or with NO_EFFECT where the delivery is not dead or has expired. */
  retry: rpc('mail.retryDelivery', ofDelivery, reply),
  /** Sends dead deliveries again that have not expired, in batches; a reply of 0 means that none is left. */
  retryDead: rpc('mail.retryDeadDeliveries', z.object({ appId: appId.optional() }), z.object({ retried: count })),
};

const MAX_SUBJECT_LENGTH = 500;
const MAX_BODY_LENGTH = 262_144;

const templateKey = z.object({ appId, kind: z.enum(MAIL_KINDS), language: languageTag });

const sources = z.object({
  subject: z.string().min(1).max(MAX_SUBJECT_LENGTH),
  html: z.string().min(1).max(MAX_BODY_LENGTH),
  text: z.string().min(1).max(MAX_BODY_LENGTH),
});

const preview = templateKey.extend({
  applicationName: z.string(),
  parts: sources.partial().optional(),
  sample: z.object({ username: z.string().max(255).optional(), email: z.string().max(254).optional() }).optional(),
});

const listedTemplate = z.object({
  kind: z.enum(MAIL_KINDS),
  language: z.string(),
  isOwn: z.boolean(),
});

const shownTemplate = listedTemplate.extend(sources.shape);

export type ShownTemplate = z.output<typeof shownTemplate>;

export const templatesRpc = {
  list: rpc('mail.listTemplates', z.object({ appId }), z.object({ templates: z.array(listedTemplate) })),
  /** The template for a reader of that language; the template itself may be in another language. */
  get: rpc('mail.getTemplate', templateKey, z.object({ template: shownTemplate })),
  /** Absent parts keep their value. Fails with INCORRECT_TYPE where a part does not render, with NO_EFFECT where `get` is not `former`. */
  set: rpc(
    'mail.setTemplate',
    templateKey.extend({ parts: sources.partial(), former: sources.optional() }),
    z.object({ template: shownTemplate }),
  ),
  /** Rendered with a fictitious user. `parts` replace those that are stored, and are checked as in `set`. */
  preview: rpc(
    'mail.previewTemplate',
    preview,
    z.object({ mail: listedTemplate.extend({ subject: z.string(), html: z.string(), text: z.string() }) }),
  ),
  /** The link of this mail has no effect; its kind in the list of deliveries is `test`. Fails as `preview`. */
  sendTest: rpc('mail.sendTestMail', preview.extend({ to: z.email().max(254) }), z.object({ id: z.uuid() })),
  /** Removes an application's own template. Fails with NOT_FOUND, or with NO_EFFECT where its sources are not `former`. */
  reset: rpc('mail.resetTemplate', templateKey.extend({ former: sources.optional() }), z.object({})),
};
