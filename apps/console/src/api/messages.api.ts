import { z } from 'zod';
import { count, cursor, exportRoute, flag, limit, ofApp, pageOf, route, time, undo } from './route.js';

export const MESSAGE_STATUSES = ['queued', 'failed', 'sent', 'dead', 'dropped'] as const;
export const TEMPLATE_KINDS = ['verifyEmail', 'resetPassword'] as const;

/** A mail or a text message, without its content. */
const message = z.object({
  id: z.uuid(),
  channel: z.enum(['mail', 'sms']),
  kind: z.string(),
  /** Masked for operators without the permission `users.contact`. */
  recipient: z.string(),
  userId: z.string().nullable(),
  status: z.enum(MESSAGE_STATUSES),
  attempts: count,
  /** Text of the server that refused it, or the reason for a drop. */
  lastError: z.string().nullable(),
  createdAt: time,
  expiresAt: time,
  nextAttemptAt: time.nullable(),
  settledAt: time.nullable(),
});

export type Message = z.output<typeof message>;

const ofMessage = ofApp.extend({ messageId: z.uuid() });
const oneMessage = z.object({ message });
const messageFilters = z.object({
  status: z.enum(MESSAGE_STATUSES).optional(),
  kind: z.string().max(64).optional(),
  channel: z.enum(['mail', 'sms']).optional(),
  /** Needs the permission `users.contact`. */
  recipient: z.string().max(254).optional(),
  userId: z.string().max(64).optional(),
  from: time.optional(),
  to: time.optional(),
});

const attempt = z.object({ at: time, error: z.string().nullable() });

const listedTemplate = z.object({ kind: z.enum(TEMPLATE_KINDS), language: z.string(), isOwn: z.boolean() });
/** Handlebars sources, or what they render. */
const parts = z.object({
  subject: z.string().min(1).max(500),
  html: z.string().min(1).max(262_144),
  text: z.string().min(1).max(262_144),
});
const template = listedTemplate.extend(parts.shape);
const ofTemplate = ofApp.extend({
  kind: z.enum(TEMPLATE_KINDS),
  language: z.string().regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}$/),
});
const givenParts = z.strictObject(parts.partial().shape);

export const messagesApi = {
  listMessages: route({
    method: 'GET',
    path: '/apps/:appId/messages',
    access: 'messages.read',
    params: ofApp,
    query: messageFilters.extend({
      counts: flag.default(false),
      after: cursor.optional(),
      limit,
    }),
    reply: pageOf(message).extend({
      /** By status, of all messages that the other filters select. `isExact` false: among the newest 10,000. */
      counts: z.object({ byStatus: z.partialRecord(z.enum(MESSAGE_STATUSES), count), isExact: z.boolean() }).nullable(),
    }),
  }),
  exportMessages: exportRoute({
    path: '/apps/:appId/messages/export',
    access: 'messages.export',
    params: ofApp,
    query: messageFilters,
    row: message,
    fileName: 'messages',
  }),
  getMessage: route({
    method: 'GET',
    path: '/apps/:appId/messages/:messageId',
    access: 'messages.read',
    params: ofMessage,
    /** `history`: the last attempts, at most 10. */
    reply: oneMessage.extend({ history: z.array(attempt) }),
  }),
  retryMessage: route({
    method: 'POST',
    path: '/apps/:appId/messages/:messageId/retry',
    access: 'messages.retry',
    params: ofMessage,
    reply: oneMessage,
  }),
  /** Sends dead messages again that have not expired, at most 50,000. */
  retryDeadMessages: route({
    method: 'POST',
    path: '/apps/:appId/messages/retry-dead',
    access: 'messages.retry',
    params: ofApp,
    reply: z.object({ retried: count }),
  }),

  listTemplates: route({
    method: 'GET',
    path: '/apps/:appId/templates',
    access: 'settings.read',
    params: ofApp,
    reply: z.object({ items: z.array(listedTemplate) }),
  }),
  /** The template for a reader of that language; the template itself may be in another language. */
  getTemplate: route({
    method: 'GET',
    path: '/apps/:appId/templates/:kind/:language',
    access: 'settings.read',
    params: ofTemplate,
    reply: z.object({ template }),
  }),
  /** Absent parts keep their value. Fails with INCORRECT_TYPE (part, line, mistake), or NO_EFFECT where the stored parts are not `former`. */
  setTemplate: route({
    method: 'PUT',
    path: '/apps/:appId/templates/:kind/:language',
    access: 'templates.write',
    // A template can send the link to another server, which then controls the account of the user.
    needsProof: true,
    params: ofTemplate,
    body: givenParts.extend({ former: parts.optional() }),
    reply: z.object({ template, undo }),
  }),
  /** Back to the built-in template. Fails with NOT_FOUND, or with NO_EFFECT where the stored parts are not `former`. */
  resetTemplate: route({
    method: 'DELETE',
    path: '/apps/:appId/templates/:kind/:language',
    access: 'templates.write',
    params: ofTemplate,
    body: z.strictObject({ former: parts.optional() }),
    reply: z.object({}),
  }),
  /** Renders parts that are not saved yet, the others as stored, with a fictitious user. */
  previewTemplate: route({
    method: 'POST',
    path: '/apps/:appId/templates/:kind/:language/preview',
    access: 'settings.read',
    isRead: true,
    params: ofTemplate,
    body: givenParts,
    reply: z.object({ mail: parts }),
  }),
  /** Sends the mail, with a link without effect, to the operator's own address. */
  sendTestMail: route({
    method: 'POST',
    path: '/apps/:appId/templates/:kind/:language/test',
    access: 'templates.write',
    params: ofTemplate,
    body: givenParts,
    reply: z.object({ recipient: z.string() }),
  }),
};
