import { z } from 'zod';
import { appId } from './application.schema.js';
import { givenCredentials } from './credential.schema.js';
import { rpc } from './rpc.js';
import { TEXT_MESSAGE_PROVIDER_KINDS } from './text-message-provider.schema.js';

const kind = z.enum(TEXT_MESSAGE_PROVIDER_KINDS);

/** A provider as an operator may see it. */
const shownProvider = z.object({
  kind,
  /** Fields that are no secret. */
  shown: z.record(z.string(), z.string()),
  /** Names of the secret fields that are set. */
  secrets: z.array(z.string()),
});

export type ShownTextMessageProvider = z.output<typeof shownProvider>;

/** What operators ask about who carries an application's text messages, by the same ways as `applicationsRpc`. */
export const textMessageProvidersRpc = {
  /** Null where none is set: messages become files. */
  get: rpc('mail.getTextMessageProvider', z.object({ appId }), z.object({ provider: shownProvider.nullable() })),
  /** Replaces what was set. `fields`: as `TEXT_MESSAGE_PROVIDERS` says for the kind. */
  set: rpc(
    'mail.setTextMessageProvider',
    z.object({ appId, kind, fields: givenCredentials }),
    z.object({ provider: shownProvider }),
  ),
  /** Fails with NOT_FOUND. */
  remove: rpc('mail.removeTextMessageProvider', z.object({ appId }), z.object({})),
};
