import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { tellPool } from '#database';
import { QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { pushDatabase } from '../push-delivery.database.js';

/** Connections for queries of installations, besides those that registrations and pushes need. */
@Injectable()
export class PushQueryDatabase extends QueryDatabase implements OnApplicationShutdown {
  constructor(@Inject(PUSH_DELIVERY_CONFIG) { databaseUrl, databasePool }: PushDeliveryConfig, metrics: Metrics) {
    super({
      ...pushDatabase(databaseUrl, Math.ceil(databasePool / 2)),
      applicationName: 'gatepost-push-queries',
    });
    tellPool(this, 'push-queries', metrics);
    tellPool(this.indexed, 'push-indexed-queries', metrics);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
