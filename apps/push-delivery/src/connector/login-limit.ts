import { Inject, Injectable } from '@nestjs/common';
import { MemoryRequestCounter, parseRateLimit, type RateLimit } from '#admission';
import { Metrics } from '#observability';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';

/** Who knows an installation's id is the device: too many logins from one client are guesses. */
@Injectable()
export class LoginLimit {
  readonly #limit: RateLimit | undefined;
  readonly #counter = new MemoryRequestCounter();

  constructor(
    @Inject(PUSH_DELIVERY_CONFIG) { connector }: PushDeliveryConfig,
    private readonly metrics: Metrics,
  ) {
    this.#limit = parseRateLimit(connector.loginLimit);
  }

  /** Counts a login. @returns whether it is within the limit */
  async count(network: string): Promise<boolean> {
    if (this.#limit === undefined) return true;
    const { count } = await this.#counter.count(network, this.#limit.windowSeconds);
    if (count <= this.#limit.count) return true;
    this.metrics.pushLogins.inc({ outcome: 'limited' });
    return false;
  }
}
