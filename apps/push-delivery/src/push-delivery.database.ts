import { Database, type DatabaseOptions } from '#database';
import { FIELD_INDEX_ENTITIES } from '#objects/store';
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
  AddPushOrigins1796300200000,
  CreateFieldIndexes1796710100000,
  CreatePush1796100000000,
  OrderPushes1796740100000,
  ScanInByteOrder1796700100000,
  SearchFieldsAtOnce1796500100000,
} from './migrations/0.1.0-pushes.js';
import {
  AddVendorChannels1796760000000,
  AddVendorLanes1796770100000,
  CountConnected1796840000000,
  FindVendorTokens1796850000000,
  CreateDeviceQueues1796200000000,
  IndexVendorLanes1796830000000,
  NumberDrops1796820000000,
} from './migrations/0.1.0-delivery.js';
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
    migrations: [
      CreatePush1796100000000,
      CreateDeviceQueues1796200000000,
      AddPushOrigins1796300200000,
      SearchFieldsAtOnce1796500100000,
      ScanInByteOrder1796700100000,
      CreateFieldIndexes1796710100000,
      OrderPushes1796740100000,
      AddVendorChannels1796760000000,
      AddVendorLanes1796770100000,
      NumberDrops1796820000000,
      IndexVendorLanes1796830000000,
      CountConnected1796840000000,
      FindVendorTokens1796850000000,
    ],
  };
}
