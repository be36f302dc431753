import { z } from 'zod';
import { appId } from './application.schema.js';
import { languageTag, MAIL_KINDS } from './mail.schema.js';
import { rpc } from './rpc.js';

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
