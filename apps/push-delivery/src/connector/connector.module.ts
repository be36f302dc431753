import { Module } from '@nestjs/common';
import {
  FAILED_CREDENTIAL_LIMIT_OPTIONS,
  FailedCredentialLimit,
  type FailedCredentialLimitOptions,
  parseRateLimit,
} from '#admission';
import { Clock } from '#bootstrap';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { Connections, ConnectorIdentity } from './connections.js';
import { ConnectorInbox } from './connector-inbox.js';
import { ConnectorPresence } from './connector-presence.js';
import { ConnectorService } from './connector.service.js';
import { DeviceAdmission } from './device-admission.js';
import { ConnectorShutdown, DeviceEndpoint } from './device-endpoint.js';
import { MessageCache } from './message-cache.js';
import { QueueWrites } from './retrying-work.js';

/** The connections of devices. */
@Module({
  providers: [
    Clock,
    ConnectorIdentity,
    ConnectorInbox,
    ConnectorPresence,
    ConnectorService,
    ConnectorShutdown,
    Connections,
    DeviceAdmission,
    DeviceEndpoint,
    MessageCache,
    QueueWrites,
    FailedCredentialLimit,
    {
      provide: FAILED_CREDENTIAL_LIMIT_OPTIONS,
      inject: [PUSH_DELIVERY_CONFIG],
      useFactory: ({ connector }: PushDeliveryConfig): FailedCredentialLimitOptions => ({
        limit: parseRateLimit(connector.failedCredentials),
      }),
    },
  ],
})
export class ConnectorModule {}
