import { AppError, messageOf } from '#errors';
import { ChannelAway, DeliveryRefused } from './delivery.channel.js';
import type { ClaimedRow, Settlement } from './delivery.row.js';
import { keptError, retryDelaySeconds } from './delivery.rules.js';

/** What an attempt comes to. @param thrown by the channel, undefined where the message is with its server */
export function settlementOf(
  { id, lease, attempts }: Pick<ClaimedRow, 'id' | 'lease' | 'attempts'>,
  thrown: unknown,
): Settlement {
  const settlement = { id, lease, delaySeconds: 0 };
  if (thrown === undefined) return { ...settlement, outcome: 'sent', error: null };
  const error = keptError(messageOf(thrown));
  if (thrown instanceof DeliveryRefused) return { ...settlement, outcome: 'dead', error };
  if (isAway(thrown)) return { ...settlement, outcome: 'released', error };
  return { ...settlement, outcome: 'failed', error, delaySeconds: retryDelaySeconds(attempts) };
}

/** A database that cannot be asked for what a message needs is as far away as the channel's own server. */
function isAway(thrown: unknown): boolean {
  return thrown instanceof ChannelAway || (thrown instanceof AppError && thrown.is('SERVICE_UNAVAILABLE'));
}
