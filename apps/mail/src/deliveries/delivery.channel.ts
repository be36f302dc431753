import type { ChannelName, Delivery } from './delivery.types.js';

/** Who carries deliveries of one sort to the server behind it. `DeliverySender.register` puts it to work. */
export abstract class DeliveryChannel {
  abstract readonly channel: ChannelName;
  /** How many it sends at once. */
  readonly parallel: number = 4;

  /**
   * Resolves once the message is with the server. It may come again with the same id, where we could not note that.
   * @throws DeliveryRefused, ChannelAway, or anything else, which means: try this one again later
   */
  abstract send(delivery: Delivery): Promise<void>;
}

/** The server will never take this message: trying again is of no use. */
export class DeliveryRefused extends Error {
  override readonly name = 'DeliveryRefused';
}

/** The server is out of reach for every message: the channel pauses, and the message keeps its attempts. */
export class ChannelAway extends Error {
  override readonly name = 'ChannelAway';
}
