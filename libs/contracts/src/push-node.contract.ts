import { z } from 'zod';
import { nodeMessage } from './node-message.js';

/** The name of a device as clients choose it; who knows it is the device. */
export const installationId = z.string().min(1).max(128);

/** One push as devices get it. */
export const pushMessage = z.object({
  /** The notification's object id: what devices know the message by, the same at every delivery. */
  id: z.string(),
  appId: z.string(),
  /** Grows with the order in which pushes were accepted. */
  order: z.number().int(),
  /** Milliseconds since 1970. */
  expiresAt: z.number().int(),
  /** JSON text of the body for each platform that has one of its own. */
  bodies: z.record(z.string(), z.string()),
  /** JSON text for all others. */
  body: z.string(),
});

export type PushMessage = z.output<typeof pushMessage>;

/** What dispatchers and connectors tell one connector. Only hints: whatever they say waits in the device's queue too. */
export const connectorMessages = {
  /** A message has come into the queues of devices that were connected there. */
  deliver: nodeMessage(
    'connector.deliver',
    z.object({
      message: pushMessage,
      /** Installation id and platform. */
      targets: z.array(z.tuple([installationId, z.string()])),
      /** It may have been told before: the connector asks the queue instead of sending at once. */
      isRepeated: z.boolean(),
    }),
  ),
  /** A device has logged in elsewhere: its older session ends. */
  evict: nodeMessage('connector.evict', z.object({ appId: z.string(), installationId, session: z.string() })),
};
