import { Controller, Inject, Module } from '@nestjs/common';
import { pushRpc, pushSealingRpc, type RpcData, type RpcReply, vendorsRpc } from '#contracts';
import { RpcHandler } from '#messaging';
import { ProcessInfo, Readiness } from '#observability';
import { SealedRows, type SealedTable, Sealer, sealerOf, weaknessOf } from '#security';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig, vendorsOf } from '../push-delivery.config.js';
import { PushDatabase } from '../push-delivery.database.js';
import { VendorBatchesRepository } from './vendor-batches.repository.js';
import { type OpenedCredentials, VendorChannels } from './vendor-channels.js';
import { vendorContext, VendorCredentials } from './vendor-credentials.js';
import { VendorCredentialsRepository } from './vendor-credentials.repository.js';
import { VendorHousekeeping } from './vendor-housekeeping.job.js';
import { VendorLanesRepository } from './vendor-lanes.repository.js';
import { VendorSender } from './vendor-sender.js';
import { VendorSettlementRepository } from './vendor-settlement.repository.js';

type Rpc = typeof vendorsRpc;
type Sealing = typeof pushSealingRpc;

/** Lets operators set credentials of vendors, and replace the deployment's secret that seals them. */
@Controller()
class VendorsController {
  constructor(
    private readonly credentials: VendorCredentials,
    private readonly channels: VendorChannels,
    private readonly states: VendorLanesRepository,
    private readonly rows: SealedRows,
  ) {}

  @RpcHandler(pushRpc.getWebPushKey)
  async webPushKey({ caller }: RpcData<typeof pushRpc.getWebPushKey>): Promise<RpcReply<typeof pushRpc.getWebPushKey>> {
    return { publicKey: await this.credentials.webPushKey(caller.appId) };
  }

  @RpcHandler(vendorsRpc.set)
  set({ isUnchecked, ...wanted }: RpcData<Rpc['set']>): Promise<RpcReply<Rpc['set']>> {
    if (isUnchecked === true) return this.credentials.set(wanted);
    // The schema of the vendor has selected the type.
    return this.credentials.set(wanted, (appId, opened) =>
      this.channels.checkOpened(appId, opened as OpenedCredentials),
    );
  }

  @RpcHandler(vendorsRpc.change)
  async change({ change, ...key }: RpcData<Rpc['change']>): Promise<RpcReply<Rpc['change']>> {
    await this.credentials.change(key, change);
    return {};
  }

  @RpcHandler(vendorsRpc.lanes)
  async lanes({ appId }: RpcData<Rpc['lanes']>): Promise<RpcReply<Rpc['lanes']>> {
    const [lanes, senders] = await Promise.all([this.states.states(appId), this.states.senders()]);
    return { lanes, senders };
  }

  @RpcHandler(vendorsRpc.remove)
  async remove(wanted: RpcData<Rpc['remove']>): Promise<RpcReply<Rpc['remove']>> {
    await this.credentials.remove(wanted);
    return {};
  }

  @RpcHandler(vendorsRpc.list)
  async list({ appId }: RpcData<Rpc['list']>): Promise<RpcReply<Rpc['list']>> {
    return { vendors: await this.credentials.list(appId) };
  }

  @RpcHandler(vendorsRpc.check)
  async check({ appId, ...key }: RpcData<Rpc['check']>): Promise<RpcReply<Rpc['check']>> {
    return { problem: (await this.channels.check(appId, key))?.text ?? null };
  }

  @RpcHandler(vendorsRpc.try)
  async try({ appId, vendor, profile, part, ...message }: RpcData<Rpc['try']>): Promise<RpcReply<Rpc['try']>> {
    const outcome = await this.channels.try(appId, { vendor, profile, part }, message);
    return { outcome: outcome.kind, reason: outcome.kind === 'accepted' ? null : outcome.reason };
  }

  @RpcHandler(pushSealingRpc.describe)
  describe(_: RpcData<Sealing['describe']>): Promise<RpcReply<Sealing['describe']>> {
    return Promise.resolve(this.rows.describe());
  }

  @RpcHandler(pushSealingRpc.walk)
  walk(request: RpcData<Sealing['walk']>): Promise<RpcReply<Sealing['walk']>> {
    return this.rows.walk(request);
  }
}

/** Every column with sealed values. */
const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'credentials of vendors',
    table: 'push.vendor_credentials',
    key: { app_id: 'text', vendor: 'text', profile: 'text', part: 'text' },
    values: [
      {
        sql: 't.sealed_secrets',
        column: 'sealed_secrets',
        context: ({ app_id: appId = '', vendor = '', profile = '', part = '' }) =>
          vendorContext({ appId, vendor, profile, part }),
      },
    ],
  },
];

/** The credentials of vendors, and what waits for their channels. */
@Module({
  providers: [
    VendorBatchesRepository,
    VendorChannels,
    VendorCredentials,
    VendorCredentialsRepository,
    VendorLanesRepository,
    {
      provide: Sealer,
      inject: [PUSH_DELIVERY_CONFIG],
      useFactory: (config: PushDeliveryConfig) => sealerOf(vendorsOf(config)),
    },
    {
      provide: SealedRows,
      inject: [PushDatabase, Sealer, ProcessInfo],
      useFactory: (database: PushDatabase, sealer: Sealer, { instance }: ProcessInfo) =>
        new SealedRows(database, sealer, SEALED_TABLES, instance),
    },
  ],
  exports: [SealedRows, VendorBatchesRepository, VendorChannels, VendorCredentials, VendorLanesRepository],
})
export class VendorsModule {
  constructor(
    readiness: Readiness,
    credentials: VendorCredentials,
    facts: ProcessInfo,
    @Inject(PUSH_DELIVERY_CONFIG) config: PushDeliveryConfig,
  ) {
    readiness.register('secret (push)', () => credentials.assertSecretFits());
    const weakness = weaknessOf(vendorsOf(config).secret) ?? null;
    facts.setting('secretWeakness', () => weakness);
  }
}

/** The RPCs of operators about channels of vendors; dispatchers serve them. */
@Module({ imports: [VendorsModule], controllers: [VendorsController] })
export class VendorOperationsModule {}

/** The role `sender`. */
@Module({ imports: [VendorsModule], providers: [VendorSender, VendorSettlementRepository, VendorHousekeeping] })
export class VendorSenderModule {}
