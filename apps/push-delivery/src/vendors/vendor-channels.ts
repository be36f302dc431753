import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { ShownVendor, VendorCredentials as Credentials } from '#contracts';
import { newObjectId } from '#objects';
import { OutboundClient } from '#outbound';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig, type VendorsConfig } from '../push-delivery.config.js';
import { ApnsChannel } from './apns/apns.channel.js';
import { FcmChannel } from './fcm/fcm.channel.js';
import {
  noCredentials,
  type OpenCredentials,
  parseServiceAccount,
  topicsOf,
  VendorCredentials,
} from './vendor-credentials.js';
import type { Outcome, VendorChannel } from './vendor.types.js';

type Key = Pick<ShownVendor, 'vendor' | 'profile' | 'part'>;
type Opened =
  (OpenCredentials<'apns'> & { readonly vendor: 'apns' }) | (OpenCredentials<'fcm'> & { readonly vendor: 'fcm' });

/** One message to one token. */
interface TriedMessage {
  readonly token: string;
  readonly alert: string;
  readonly topic?: string | undefined;
  readonly prod: 'dev' | 'prod';
}

/** Lifetime of a tried message. */
const TRY_LIFE_MS = 3_600_000;
const OUTBOUND = { timeoutMs: 10_000, maxAnswerBytes: 65_536, maxConnections: 4 };

/** Opens channels to the push services of vendors. */
@Injectable()
export class VendorChannels implements OnApplicationShutdown {
  readonly #urls: VendorsConfig['urls'];
  readonly #outbound: OutboundClient;

  constructor(
    private readonly credentials: VendorCredentials,
    private readonly clock: Clock,
    @Inject(PUSH_DELIVERY_CONFIG) { vendors }: PushDeliveryConfig,
  ) {
    if (vendors === undefined) throw new Error('this process has no role that sends to vendors');
    this.#urls = vendors.urls;
    this.#outbound = new OutboundClient({ ...OUTBOUND, internalNetworks: vendors.internalNetworks });
  }

  /** @returns undefined where none are set @throws AppError SERVICE_UNAVAILABLE */
  async credentialsOf(appId: string, { vendor, profile, part }: Key): Promise<Opened | undefined> {
    if (vendor === 'apns') {
      const opened = await this.credentials.find(appId, { vendor, profile, part });
      return opened === undefined ? undefined : { vendor, ...opened };
    }
    const opened = await this.credentials.find(appId, { vendor, profile, part });
    return opened === undefined ? undefined : { vendor, ...opened };
  }

  open(opened: Opened, prod: 'dev' | 'prod'): VendorChannel {
    return opened.vendor === 'apns' ? this.#apns(opened.credentials, prod) : this.#fcm(opened.credentials);
  }

  /** Signs in at the vendor. @returns the problem; undefined where the credentials work @throws AppError NOT_FOUND */
  async check(appId: string, key: Key): Promise<string | undefined> {
    const opened = await this.credentialsOf(appId, key);
    if (opened === undefined) throw noCredentials(key);
    const channel = this.open(opened, 'prod');
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
    const channel = this.open(opened, prod);
    const objectId = newObjectId(this.clock.now());
    const message = { body: JSON.stringify({ alert }), bodies: {} };
    const push = {
      appId,
      objectId,
      data: { alert },
      message,
      prod,
      expiresAt: new Date(this.clock.now().getTime() + TRY_LIFE_MS),
    };
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

  #fcm({ serviceAccount }: Credentials<'fcm'>): VendorChannel {
    const account = parseServiceAccount(serviceAccount);
    if (account === undefined) throw new Error('the stored service account is not valid');
    const { fcm: url, 'fcm-token': tokenUrl } = this.#urls;
    return new FcmChannel({ account, url, tokenUrl, outbound: this.#outbound, clock: this.clock });
  }
}
