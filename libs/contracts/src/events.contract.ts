import { z } from 'zod';
import { languages, MAIL_KINDS } from './application.schema.js';
import { event, type EventPayload } from './messages.schema.js';
import { CODE_PURPOSES, MAX_CODE_TTL_MINUTES, textMessageOptions } from './text-messages.contract.js';

const userRef = z.object({ appId: z.string(), userId: z.string() });

/** A code to be sent to a number, sealed under `sealedCodeContext`. It replaces earlier ones of the same number, purpose and user. */
const textMessageRequest = textMessageOptions.required({ name: true }).extend({
  appId: z.string(),
  mobilePhoneNumber: z.string().regex(/^\+\d{6,15}$/),
  sealedCode: z.string().max(256),
  purpose: z.enum(CODE_PURPOSES),
  /** The only user who may redeem the code; absent where the owner of the number may. */
  userId: z.string().optional(),
  ttlMinutes: z.number().int().min(1).max(MAX_CODE_TTL_MINUTES),
  expiresAt: z.iso.datetime(),
});

/** A mail to be sent with a link; its token is sealed under `sealedTokenContext`. */
const mailRequest = userRef.extend({
  kind: z.enum(MAIL_KINDS),
  email: z.string().max(254),
  username: z.string(),
  applicationName: z.string(),
  sealedToken: z.string().max(4096),
  /** The application's page that the link leads to; null: the built-in page. */
  pageUrl: z.string().nullable(),
  languages,
  /** The user's `updatedAt` for this address, or a later time at which the user had it: it orders requests around a change. */
  userUpdatedAt: z.iso.datetime(),
  requestedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});

export const events = {
  userRegistered: event('user.registered.v1', userRef),
  /** The address of an existing user was changed, or removed (null). `changedAt` is the user's `updatedAt` after the change. */
  emailChanged: event(
    'email.changed.v1',
    userRef.extend({ email: z.string().nullable(), changedAt: z.iso.datetime() }),
    { subscribers: ['mail'] },
  ),
  /** `deletedAt` is later than every earlier `updatedAt` of the user. */
  userDeleted: event('user.deleted.v1', userRef.extend({ deletedAt: z.iso.datetime() }), { subscribers: ['mail'] }),
  mailRequested: event('mail.requested.v1', mailRequest, { subscribers: ['mail'] }),
  smsRequested: event('sms.requested.v1', textMessageRequest, { subscribers: ['mail'] }),
};

export type MailRequest = EventPayload<typeof events.mailRequested>;
export type TextMessageRequest = EventPayload<typeof events.smsRequested>;

/** Broadcasts to every process. Best effort: they only shorten a delay that is bounded without them. */
export const broadcastContracts = {
  applicationChanged: event('application.changed', z.object({ appId: z.string() })),
  platformsChanged: event('platforms.changed', z.object({ appId: z.string() })),
  /** Credentials of vendor channels were set or removed, or lanes were paused; `resumed`: the lanes that go on. */
  vendorsChanged: event('vendors.changed', z.object({ appId: z.string(), resumed: z.array(z.string()).default([]) })),
  vendorBatchesAdded: event('vendor-batches.added', z.object({})),
};
