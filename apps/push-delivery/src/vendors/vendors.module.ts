import { Controller, Module } from '@nestjs/common';
import { pushRpc, pushSealingRpc, type RpcData, type RpcReply, vendorsRpc } from '#contracts';
import { RpcHandler } from '#messaging';
import { Readiness } from '#observability';
import { type SealedTable, Sealer, sealerOf, sealingController } from '#security';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig, vendorsOf } from '../push-delivery.config.js';
import { PushDatabase } from '../push-delivery.database.js';
import { VendorBatchesRepository } from './vendor-batches.repository.js';
import { type OpenedCredentials, VendorChannels } from './vendor-channels.js';
import { VendorCredentialsRepository } from './vendor-credentials.repository.js';
import { vendorContext, VendorCredentialsService } from './vendor-credentials.service.js';
import { VendorHousekeeping } from './vendor-housekeeping.job.js';
import { VendorLanesRepository } from './vendor-lanes.repository.js';
import { VendorSender } from './vendor-sender.js';
import { VendorSettlementRepository } from './vendor-settlement.repository.js';

type Rpc = typeof vendorsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
class VendorsController {
  constructor(
    private readonly credentials: VendorCredentialsService,
    private readonly channels: VendorChannels,
    private readonly states: VendorLanesRepository,
  ) {}

  @RpcHandler(pushRpc.getWebPushKey)
  async getWebPushKey({
    caller,
  }: RpcData<typeof pushRpc.getWebPushKey>): Promise<RpcReply<typeof pushRpc.getWebPushKey>> {
    return { publicKey: await this.credentials.webPushKey(caller.appId) };
  }

  @RpcHandler(vendorsRpc.set)
  set({ isUnchecked, ...wanted }: Data<'set'>): Reply<'set'> {
    if (isUnchecked === true) return this.credentials.set(wanted);
    return this.credentials.set(wanted, (appId, opened) =>
      this.channels.checkOpened(appId, opened as OpenedCredentials),
    );
  }

  @RpcHandler(vendorsRpc.change)
  async change({ change, ...key }: Data<'change'>): Reply<'change'> {
    await this.credentials.change(key, change);
    return {};
  }

  @RpcHandler(vendorsRpc.listLanes)
  async listLanes({ appId }: Data<'listLanes'>): Reply<'listLanes'> {
    const [lanes, senders] = await Promise.all([this.states.states(appId), this.states.senders()]);
    return { lanes, senders };
  }

  @RpcHandler(vendorsRpc.remove)
  async remove(wanted: Data<'remove'>): Reply<'remove'> {
    await this.credentials.remove(wanted);
    return {};
  }

  @RpcHandler(vendorsRpc.list)
  async list({ appId }: Data<'list'>): Reply<'list'> {
    return { vendors: await this.credentials.list(appId) };
  }

  @RpcHandler(vendorsRpc.check)
  async check({ appId, ...key }: Data<'check'>): Reply<'check'> {
    return { problem: (await this.channels.check(appId, key))?.text ?? null };
  }

  @RpcHandler(vendorsRpc.try)
  async try({ appId, vendor, profile, part, ...message }: Data<'try'>): Reply<'try'> {
    const outcome = await this.channels.try(appId, { vendor, profile, part }, message);
    return { outcome: outcome.kind, reason: outcome.kind === 'accepted' ? null : outcome.reason };
  }
}

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

@Module({
  providers: [
    VendorBatchesRepository,
    VendorChannels,
    VendorCredentialsService,
    VendorCredentialsRepository,
    VendorLanesRepository,
    {
      provide: Sealer,
      inject: [PUSH_DELIVERY_CONFIG],
      useFactory: (config: PushDeliveryConfig) => sealerOf(vendorsOf(config)),
    },
  ],
  exports: [Sealer, VendorBatchesRepository, VendorChannels, VendorCredentialsService, VendorLanesRepository],
})
export class VendorsModule {
  constructor(readiness: Readiness, credentials: VendorCredentialsService) {
    readiness.register('secret (push)', () => credentials.assertSecretFits());
  }
}

@Module({
  imports: [VendorsModule],
  controllers: [VendorsController, sealingController(pushSealingRpc, PushDatabase, SEALED_TABLES)],
})
export class VendorOperationsModule {}

@Module({ imports: [VendorsModule], providers: [VendorSender, VendorSettlementRepository, VendorHousekeeping] })
export class VendorSenderModule {}
