import { z } from 'zod';
import { event } from './event.js';

const userRef = z.object({ appId: z.string(), userId: z.string() });

/** What services tell afterwards, through their outbox. */
export const events = {
  userRegistered: event('user.registered.v1', userRef),
  /** `email` is null where the address was removed. `needsVerification`: the address starts as unverified. */
  emailChanged: event(
    'email.changed.v1',
    userRef.extend({ email: z.string().nullable(), needsVerification: z.boolean() }),
  ),
  userDeleted: event('user.deleted.v1', userRef),
};

/** Hints to every process. Best effort: they only shorten a delay that is bounded without them. */
export const broadcastHints = {
  applicationChanged: event('application.changed', z.object({ appId: z.string() })),
};
