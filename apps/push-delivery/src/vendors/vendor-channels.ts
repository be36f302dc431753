import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import type { ShownVendor, Vendor, VendorCredentials as Credentials } from '#contracts';
import { newObjectId } from '#objects';
import { OutboundClient } from '#outbound';
import {
  PUSH_DELIVERY_CONFIG,
  type PushDeliveryConfig,
  type VendorsConfig,
  vendorsOf,
} from '../push-delivery.config.js';
import type { AndroidProtocol } from './android/android-message.js';
import { AndroidChannel } from './android/android.channel.js';
import { honorProtocol, huaweiProtocol } from './android/huawei.protocol.js';
import { meizuProtocol, oppoProtocol, vivoProtocol } from './android/signed.protocols.js';
import { xiaomiProtocol } from './android/xiaomi.protocol.js';
import { ApnsChannel } from './apns/apns.channel.js';
import { FcmChannel } from './fcm/fcm.channel.js';
import { WebPushChannel } from './web-push/web-push.channel.js';
import { publicKeyOf } from './web-push/web-push.crypto.js';
import {
  noCredentials,
  type OpenCredentials,
  parseServiceAccount,
  topicsOf,
  VendorCredentials,
} from './vendor-credentials.js';
import type { Outcome, VendorChannel } from './vendor.types.js';

type Key = Pick<ShownVendor, 'vendor' | 'profile' | 'part'>;
/** Credentials with their vendor, which selects their type. */
type Opened = { [Name in Vendor]: OpenCredentials<Name> & { readonly vendor: Name } }[Vendor];

/** One message to one token. */
interface TriedMessage {
  readonly token: string;
  readonly alert: string;
  readonly topic?: string | undefined;
  readonly prod: 'dev' | 'prod';
}

/** Lifetime of a tried message. */
const TRY_LIFE_MS = 3_600_000;
const OUTBOUND = { timeoutMs: 10_000, maxAnswerBytes: 262_144, maxConnections: 8 };

/** Opens channels to the push services of vendors. */
@Injectable()
export class VendorChannels implements OnApplicationShutdown {
  readonly #urls: VendorsConfig['urls'];
  readonly #outbound: OutboundClient;

  constructor(
    private readonly credentials: VendorCredentials,
    private readonly applications: ApplicationDirectory,
    private readonly clock: Clock,
    @Inject(PUSH_DELIVERY_CONFIG) config: PushDeliveryConfig,
  ) {
    const { urls, internalNetworks } = vendorsOf(config);
    this.#urls = urls;
    this.#outbound = new OutboundClient({ ...OUTBOUND, internalNetworks });
  }

  /** @returns undefined where none are set @throws AppError SERVICE_UNAVAILABLE */
  async credentialsOf(appId: string, key: Key): Promise<Opened | undefined> {
    const opened = await this.credentials.find(appId, key);
    // The vendor of the key has selected the schema.
    return opened === undefined ? undefined : ({ vendor: key.vendor, ...opened } as Opened);
  }

  /** @throws AppError SERVICE_UNAVAILABLE if the name of the application cannot be read */
  async open(appId: string, opened: Opened, prod: 'dev' | 'prod'): Promise<VendorChannel> {
    if (opened.vendor === 'apns') return this.#apns(opened.credentials, prod);
    if (opened.vendor === 'fcm') return this.#fcm(opened.credentials);
    if (opened.vendor === 'web-push') return this.#webPush(opened.credentials);
    const { title = (await this.applications.find(appId))?.name ?? appId } = opened.credentials;
    return new AndroidChannel({ protocol: this.#protocol(opened), outbound: this.#outbound, clock: this.clock, title });
  }

  /** Signs in at the vendor. @returns the problem; undefined where the credentials work @throws AppError NOT_FOUND */
  async check(appId: string, key: Key): Promise<string | undefined> {
    const opened = await this.credentialsOf(appId, key);
    if (opened === undefined) throw noCredentials(key);
    const channel = await this.open(appId, opened, 'prod');
    try {
      return await channel.check();
    } finally {
      channel.close();
    }
  }

  /** Sends one message to one token. @throws AppError NOT_FOUND */
  async try(appId: string, key: Key, { token, alert, topic, prod }: TriedMessage): Promise<Outcome> {
    const opened = await this.credentialsOf(appId, key);
    if (opened === undefined) throw noCredentials(key);
    const channel = await this.open(appId, opened, prod);
    const now = this.clock.now();
    const objectId = newObjectId(now);
    const expiresAt = new Date(now.getTime() + TRY_LIFE_MS);
    const message = { body: JSON.stringify({ alert }), bodies: {} };
    const push = { appId, objectId, data: { alert }, message, prod, attempt: 0, expiresAt };
    const target = { objectId, token, platform: 'ios', topic: topic ?? null, badge: null };
    try {
      const [outcome = { kind: 'unsure', reason: 'no answer' }] = await channel.send(push, [target]);
      return outcome;
    } finally {
      channel.close();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#outbound.close();
  }

  #apns(credentials: Credentials<'apns'>, prod: 'dev' | 'prod'): VendorChannel {
    const url = this.#urls[prod === 'dev' ? 'apns-dev' : 'apns'];
    return new ApnsChannel(credentials, topicsOf(credentials.topics), prod, url);
  }

  #protocol(opened: Exclude<Opened, { readonly vendor: 'apns' | 'fcm' | 'web-push' }>): AndroidProtocol {
    const urls = this.#urls;
    switch (opened.vendor) {
      case 'huawei':
        return huaweiProtocol(opened.credentials, { push: urls.huawei, token: urls['huawei-token'] });
      case 'honor':
        return honorProtocol(opened.credentials, { push: urls.honor, token: urls['honor-token'] });
      case 'xiaomi':
        return xiaomiProtocol(opened.credentials, urls.xiaomi);
      case 'oppo':
        return oppoProtocol(opened.credentials, urls.oppo);
      case 'vivo':
        return vivoProtocol(opened.credentials, urls.vivo);
      case 'meizu':
        return meizuProtocol(opened.credentials, urls.meizu);
    }
  }

  #webPush({ subject, privateKey = '' }: Credentials<'web-push'>): VendorChannel {
    const keys = { privateKey, publicKey: publicKeyOf(privateKey) ?? '' };
    return new WebPushChannel({ keys, subject, outbound: this.#outbound, clock: this.clock });
  }

  #fcm({ serviceAccount }: Credentials<'fcm'>): VendorChannel {
    const account = parseServiceAccount(serviceAccount);
    if (account === undefined) throw new Error('the stored service account is not valid');
    const { fcm: url, 'fcm-token': tokenUrl } = this.#urls;
    return new FcmChannel({ account, url, tokenUrl, outbound: this.#outbound, clock: this.clock });
  }
}
