import { Database, type DatabaseOptions } from '#database';
import { FIELD_INDEX_ENTITIES } from '#objects/store';
import * as delivery from './migrations/0.1.0-delivery.js';
import * as pushes from './migrations/0.1.0-pushes.js';
import {
  ConnectedCountEntity,
  DeliveryStatisticsEntity,
  DroppedMessageEntity,
  InstallationEntity,
  LaneEntity,
  MarkEntity,
  MessageEntity,
  NotificationEntity,
  QueuedMessageEntity,
  RequestIdEntity,
} from './pushes/push.entity.js';
import {
  DevelopmentDeviceEntity,
  VendorBatchEntity,
  VendorCountsEntity,
  VendorCredentialEntity,
  VendorLaneEntity,
  VendorSenderEntity,
} from './vendors/vendor.entity.js';

/** The standalone server has one `Database` per service. */
export class PushDatabase extends Database {}

export function pushDatabase(url: string, poolSize: number): DatabaseOptions {
  return {
    url,
    poolSize,
    schema: 'push',
    applicationName: 'gatepost-push-delivery',
    entities: [
      InstallationEntity,
      NotificationEntity,
      LaneEntity,
      DeliveryStatisticsEntity,
      RequestIdEntity,
      ConnectedCountEntity,
      MessageEntity,
      QueuedMessageEntity,
      DroppedMessageEntity,
      MarkEntity,
      VendorCredentialEntity,
      VendorBatchEntity,
      VendorCountsEntity,
      VendorLaneEntity,
      DevelopmentDeviceEntity,
      VendorSenderEntity,
      ...FIELD_INDEX_ENTITIES,
    ],
    migrations: [...Object.values(pushes), ...Object.values(delivery)],
  };
}
