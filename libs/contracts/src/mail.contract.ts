import { z } from 'zod';
import { appId, languageTag, MAIL_KINDS } from './application.schema.js';
import { rpc } from './message-kinds.js';

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

const MAX_SUBJECT_LENGTH = 500;
const MAX_BODY_LENGTH = 262_144;

const place = z.object({ appId, kind: z.enum(MAIL_KINDS), language: languageTag });

/** The sources of a template (Handlebars). */
const sources = z.object({
  subject: z.string().min(1).max(MAX_SUBJECT_LENGTH),
  html: z.string().min(1).max(MAX_BODY_LENGTH),
  text: z.string().min(1).max(MAX_BODY_LENGTH),
});

const listedTemplate = z.object({
  kind: z.enum(MAIL_KINDS),
  language: z.string(),
  /** Whether it is the application's own; otherwise it is built in. */
  isOwn: z.boolean(),
});

export type ListedTemplate = z.output<typeof listedTemplate>;

const shownTemplate = listedTemplate.extend(sources.shape);

export type ShownTemplate = z.output<typeof shownTemplate>;

/** What operators ask about the mails of an application, by the same ways as `applicationsRpc`. */
export const templatesRpc = {
  list: rpc('mail.listTemplates', z.object({ appId }), z.object({ templates: z.array(listedTemplate) })),
  /** What somebody who reads that language gets: its language may be another one. */
  get: rpc('mail.getTemplate', place, z.object({ template: shownTemplate })),
  /** Parts that are not given stay as they are. Fails with INCORRECT_TYPE for what does not render. */
  set: rpc('mail.setTemplate', place.extend({ parts: sources.partial() }), z.object({ template: shownTemplate })),
  /** As `get`, rendered for a user that does not exist. */
  preview: rpc(
    'mail.previewTemplate',
    place.extend({ applicationName: z.string() }),
    z.object({ mail: listedTemplate.extend({ subject: z.string(), html: z.string(), text: z.string() }) }),
  ),
  /** Removes an application's own template. Fails with NOT_FOUND. */
  reset: rpc('mail.resetTemplate', place, z.object({})),
};
