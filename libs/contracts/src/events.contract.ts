import { z } from 'zod';
import { event, type EventPayload } from './event.js';
import { CODE_PURPOSES, MAX_CODE_TTL_MINUTES, textMessageOptions } from './text-message.schema.js';

const userRef = z.object({ appId: z.string(), userId: z.string() });

/** A code that shall be sent to a number; it opens under `sealedCodeContext`. */
const textMessageRequest = textMessageOptions.required({ name: true }).extend({
  appId: z.string(),
  mobilePhoneNumber: z.string().regex(/^\+\d{6,15}$/),
  sealedCode: z.string().max(256),
  purpose: z.enum(CODE_PURPOSES),
  ttlMinutes: z.number().int().min(1).max(MAX_CODE_TTL_MINUTES),
  expiresAt: z.iso.datetime(),
});

/** What services tell afterwards, through their outbox. */
export const events = {
  userRegistered: event('user.registered.v1', userRef),
  /** `email` is null where the address was removed. `needsVerification`: the address starts as unverified. */
  emailChanged: event(
    'email.changed.v1',
    userRef.extend({ email: z.string().nullable(), needsVerification: z.boolean() }),
  ),
  userDeleted: event('user.deleted.v1', userRef),
  smsRequested: event('sms.requested.v1', textMessageRequest, { subscribers: ['mail'] }),
};

export type TextMessageRequest = EventPayload<typeof events.smsRequested>;

/** Hints to every process. Best effort: they only shorten a delay that is bounded without them. */
export const broadcastHints = {
  applicationChanged: event('application.changed', z.object({ appId: z.string() })),
};
