import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import type { VendorCredentials, ShownVendor, Vendor } from '#contracts';
import { newObjectId } from '#objects';
import type { Metrics } from '#observability';
import { OutboundClient } from '#outbound';
import {
  PUSH_DELIVERY_CONFIG,
  type PushDeliveryConfig,
  type VendorsConfig,
  vendorsOf,
} from '../push-delivery.config.js';
import { AndroidChannel, type AndroidProtocol } from './android/android.channel.js';
import { honorProtocol, huaweiProtocol, xiaomiProtocol } from './android/authorized.protocols.js';
import { meizuProtocol, oppoProtocol, vivoProtocol } from './android/signed.protocols.js';
import { ApnsChannel } from './apns/apns.channel.js';
import { FcmChannel } from './fcm/fcm.channel.js';
import {
  type CheckProblem,
  laneName as nameOfLane,
  type Outcome,
  parseLane,
  type VendorChannel,
} from './vendor-channel.rules.js';
import {
  noCredentials,
  type OpenCredentials,
  parseServiceAccount,
  topicsOf,
  VendorCredentialsService,
} from './vendor-credentials.service.js';
import { VendorLane } from './vendor-lane.js';
import { PushServices } from './web-push/push-services.js';
import { WebPushChannel } from './web-push/web-push.channel.js';
import { publicKeyOf } from './web-push/web-push.crypto.js';

type Key = Pick<ShownVendor, 'vendor' | 'profile' | 'part'>;
export type OpenedCredentials = { [Name in Vendor]: OpenCredentials<Name> & { readonly vendor: Name } }[Vendor];
type Opened = OpenedCredentials;

interface TriedMessage {
  readonly token: string;
  readonly alert: string;
  readonly topic?: string | undefined;
  readonly prod: 'dev' | 'prod';
}

const TRY_LIFE_MS = 3_600_000;
const OUTBOUND = { timeoutMs: 10_000, maxAnswerBytes: 262_144 };

@Injectable()
export class VendorChannels implements OnApplicationShutdown {
  readonly #config: VendorsConfig;
  readonly #outbound = new Map<Vendor, OutboundClient>();

  constructor(
    private readonly credentials: VendorCredentialsService,
    private readonly applications: ApplicationDirectory,
    private readonly clock: Clock,
    @Inject(PUSH_DELIVERY_CONFIG) config: PushDeliveryConfig,
  ) {
    this.#config = vendorsOf(config);
  }

  windowOf(vendor: Vendor): number {
    return this.#config.windows[vendor];
  }

  async credentialsOf(appId: string, key: Key): Promise<Opened | undefined> {
    const opened = await this.credentials.find(appId, key);
    return opened === undefined ? undefined : ({ vendor: key.vendor, ...opened } as Opened);
  }

  async open(appId: string, opened: Opened, prod: 'dev' | 'prod'): Promise<VendorChannel> {
    if (opened.vendor === 'apns') return this.#apns(opened.credentials, prod);
    if (opened.vendor === 'fcm') return this.#fcm(opened.credentials);
    if (opened.vendor === 'web-push') return this.#webPush(opened.credentials);
    const { title = (await this.applications.find(appId))?.name ?? appId } = opened.credentials;
    const outbound = this.#outboundOf(opened.vendor);
    return new AndroidChannel({ protocol: this.#protocol(opened), outbound, clock: this.clock, title });
  }

  async check(appId: string, key: Key): Promise<CheckProblem | undefined> {
    const opened = await this.credentialsOf(appId, key);
    if (opened === undefined) throw noCredentials(key);
    return this.checkOpened(appId, opened);
  }

  async checkOpened(appId: string, opened: Opened): Promise<CheckProblem | undefined> {
    const channel = await this.open(appId, opened, 'prod');
    try {
      return await channel.check();
    } finally {
      channel.close();
    }
  }

  async try(appId: string, key: Key, { token, alert, topic, prod }: TriedMessage): Promise<Outcome> {
    const opened = await this.credentialsOf(appId, key);
    if (opened === undefined) throw noCredentials(key);
    const channel = await this.open(appId, opened, prod);
    const now = this.clock.now();
    const objectId = newObjectId(now);
    const expiresAt = new Date(now.getTime() + TRY_LIFE_MS);
    const message = { body: JSON.stringify({ alert }), bodies: {} };
    const push = { appId, objectId, data: { alert }, message, prod, keyNo: 0, isRepeat: false, expiresAt };
    const target = { objectId, token, platform: 'ios', topic: topic ?? null, badge: null };
    try {
      const [outcome = { kind: 'unsure', reason: 'no answer', scope: 'lane' }] = await channel.send(push, [target]);
      return outcome;
    } finally {
      channel.close();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#outbound.values()].map((client) => client.close()));
  }

  #outboundOf(vendor: Vendor): OutboundClient {
    const { internalNetworks, connections } = this.#config;
    const client =
      this.#outbound.get(vendor) ??
      new OutboundClient({ ...OUTBOUND, maxConnections: connections[vendor], internalNetworks });
    this.#outbound.set(vendor, client);
    return client;
  }

  #apns(credentials: VendorCredentials<'apns'>, prod: 'dev' | 'prod'): VendorChannel {
    const { urls, connections } = this.#config;
    const server = {
      url: urls[prod === 'dev' ? 'apns-dev' : 'apns'],
      connections: connections.apns,
      clock: this.clock,
    };
    return new ApnsChannel(credentials, topicsOf(credentials.topics), prod, server);
  }

  #protocol(opened: Exclude<Opened, { readonly vendor: 'apns' | 'fcm' | 'web-push' }>): AndroidProtocol {
    const { urls } = this.#config;
    switch (opened.vendor) {
      case 'huawei':
        return huaweiProtocol(opened.credentials, { push: urls.huawei, token: urls['huawei-token'] });
      case 'honor':
        return honorProtocol(opened.credentials, { push: urls.honor, token: urls['honor-token'] });
      case 'xiaomi':
        return xiaomiProtocol(opened.credentials, { push: urls.xiaomi, feedback: urls['xiaomi-feedback'] });
      case 'oppo':
        return oppoProtocol(opened.credentials, urls.oppo);
      case 'vivo':
        return vivoProtocol(opened.credentials, urls.vivo);
      case 'meizu':
        return meizuProtocol(opened.credentials, urls.meizu);
    }
  }

  #webPush({ subject, privateKey = '' }: VendorCredentials<'web-push'>): VendorChannel {
    const keys = { privateKey, publicKey: publicKeyOf(privateKey) ?? '' };
    const services = new PushServices(this.#outboundOf('web-push'), OUTBOUND);
    return new WebPushChannel({ keys, subject, services, clock: this.clock });
  }

  #fcm({ serviceAccount }: VendorCredentials<'fcm'>): VendorChannel {
    const account = parseServiceAccount(serviceAccount);
    if (account === undefined) throw new Error('the stored service account is not valid');
    const { urls, connections } = this.#config;
    const servers = { url: urls.fcm, tokenUrl: urls['fcm-token'], connections: connections.fcm };
    return new FcmChannel({ account, ...servers, outbound: this.#outboundOf('fcm'), clock: this.clock });
  }
}

type LaneKey = NonNullable<ReturnType<typeof parseLane>>;

const MAX_LANES = 1_000;
const IDLE_MS = 30 * 60_000;

export class VendorLanes {
  readonly #lanes = new LRUCache<string, VendorLane>({
    max: MAX_LANES,
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose: (lane) => {
      lane.close();
    },
  });
  readonly #logger = new Logger('Vendors');
  readonly #searches = new Map<string, Promise<VendorLane | undefined>>();

  constructor(
    private readonly channels: Pick<VendorChannels, 'credentialsOf' | 'open' | 'windowOf'>,
    private readonly requests: Metrics['vendorRequests'],
  ) {}

  backingOff(): VendorLane[] {
    return [...this.#lanes.values()].filter((lane) => !lane.isPaused && lane.backOffMs > 0);
  }

  responsive(): string[] {
    return [...this.#lanes.values()].filter(({ isResponsive }) => isResponsive).map(({ name }) => name);
  }

  /** @returns undefined if the application has no credentials for it @throws AppError SERVICE_UNAVAILABLE */
  find(appId: string, laneName: string): Promise<VendorLane | undefined> {
    const name = `${appId} ${laneName}`;
    // Two lanes of one name would close each other's connections.
    const search =
      this.#searches.get(name) ?? this.#find(appId, laneName, name).finally(() => this.#searches.delete(name));
    this.#searches.set(name, search);
    return search;
  }

  async #find(appId: string, laneName: string, name: string): Promise<VendorLane | undefined> {
    const key = parseLane(laneName);
    const opened = key === undefined ? undefined : await this.channels.credentialsOf(appId, key);
    if (key === undefined || opened === undefined) return undefined;
    const known = this.#lanes.get(name);
    const lane = known?.version === opened.version ? known : await this.#open(appId, opened, key);
    lane.setPaused(opened.pausedLanes.has(laneName));
    return lane;
  }

  async #open(appId: string, opened: OpenedCredentials, key: LaneKey): Promise<VendorLane> {
    const name = `${appId} ${nameOfLane(key, key.prod)}`;
    const channel = await this.channels.open(appId, opened, key.prod);
    const tools = {
      requests: this.requests,
      logger: this.#logger,
      window: this.channels.windowOf(key.vendor),
    };
    const lane = new VendorLane(name, key.vendor, opened.version, channel, tools);
    this.#lanes.set(name, lane);
    return lane;
  }

  /** The next request opens the lanes anew. */
  forget(appId: string): void {
    for (const name of [...this.#lanes.keys()]) if (name.startsWith(`${appId} `)) this.#lanes.delete(name);
  }

  close(): void {
    this.#lanes.clear();
  }
}
