import { z } from 'zod';
import { languages } from './mail.schema.js';

/** Who asks: the application whose key was shown, and the session token as it was sent (accounts judges it). */
export const caller = z.object({
  /** One id per HTTP request; the log lines of its errors carry it, in whatever service. */
  requestId: z.string().max(64),
  appId: z.string().min(1),
  /** The request was signed with the application's master key. */
  isMaster: z.boolean(),
  sessionToken: z.string().max(256).optional(),
  /** What its Accept-Language names: for mails that the request leads to. */
  languages: languages.optional(),
});

export type Caller = z.output<typeof caller>;
