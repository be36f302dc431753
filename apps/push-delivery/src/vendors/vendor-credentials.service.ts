import { createPrivateKey } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { TtlCache } from '#bootstrap';
import {
  broadcastContracts,
  credentialProblem,
  DEFAULT_PROFILE,
  type RpcData,
  type ShownVendor,
  type SplitCredentials,
  splitCredentials,
  type Vendor,
  VENDOR_CREDENTIALS,
  type VendorCredentials,
  VENDORS,
  type vendorsRpc,
} from '#contracts';
import { appError } from '#errors';
import { Broadcasts } from '#messaging';
import { SealedCredentials, Sealer } from '#security';
import { VendorBatchesRepository } from './vendor-batches.repository.js';
import type { CheckProblem, VendorChannelKey } from './vendor-channel.rules.js';
import {
  lanesOf,
  VendorCredentialsRepository,
  type VendorCredentialsRow as Row,
} from './vendor-credentials.repository.js';
import { type LaneChange, VendorLanesRepository } from './vendor-lanes.repository.js';
import { OUTSIDE_CHINA } from './vendor-route.rules.js';
import { newVapidKeys, publicKeyOf } from './web-push/web-push.crypto.js';

type Key = Pick<ShownVendor, 'vendor' | 'profile' | 'part'>;
type RowKey = Pick<Row, 'appId' | 'vendor' | 'profile' | 'part'>;

/** `version` changes with the credentials. */
export interface OpenCredentials<Name extends Vendor = Vendor> {
  readonly version: number;
  readonly credentials: VendorCredentials<Name>;
  readonly pausedLanes: ReadonlySet<string>;
}

export type CredentialCheck = (appId: string, opened: OpenCredentials & Key) => Promise<CheckProblem | undefined>;

interface Known {
  readonly rows: readonly Row[];
  readonly pausedLanes: ReadonlySet<string>;
}

/** Secrets are sealed at rest and never shown. */
@Injectable()
export class VendorCredentialsService {
  /** Cached sealed for a second: no secret stays in memory in plain text. */
  readonly #known = new TtlCache<Known>(async (appId) => {
    const [rows, pausedLanes] = await Promise.all([this.repository.list(appId), this.lanes.pausedOf(appId)]);
    return { rows, pausedLanes };
  });
  readonly #sealed: SealedCredentials<RowKey>;

  constructor(
    private readonly repository: VendorCredentialsRepository,
    sealer: Sealer,
    private readonly applications: ApplicationDirectory,
    private readonly broadcasts: Broadcasts,
    private readonly batches: VendorBatchesRepository,
    private readonly lanes: VendorLanesRepository,
  ) {
    this.#sealed = new SealedCredentials(sealer, {
      context: vendorContext,
      title: ({ appId, vendor }) => `credentials of application ${appId} for ${vendor}`,
    });
    broadcasts.on(broadcastContracts.vendorsChanged, ({ appId }) => {
      this.#known.forget(appId);
    });
  }

  async channelsOf(appId: string): Promise<readonly VendorChannelKey[]> {
    return (await this.#known.get(appId)).rows.flatMap(({ vendor: name, profile, part, shown }) => {
      const vendor = VENDORS.find((known) => known === name);
      return vendor === undefined ? [] : [{ vendor, profile, part, topics: topicsOf(shown['topics'] ?? '') }];
    });
  }

  batchesAdded(): void {
    this.broadcasts.send(broadcastContracts.vendorBatchesAdded, {});
  }

  /** @returns undefined where none are set @throws AppError SERVICE_UNAVAILABLE if they cannot be read or opened */
  async find<Name extends Vendor>(
    appId: string,
    key: Key & { vendor: Name },
  ): Promise<OpenCredentials<Name> | undefined> {
    const { rows, pausedLanes } = await this.#known.get(appId);
    const row = rows.find((one) => isNamed(one, key));
    if (row === undefined) return undefined;
    const credentials = this.#sealed.openOrFail(row, ({ shown, secrets }) => ({
      ...shown,
      ...secrets,
    })) as VendorCredentials<Name>;
    return { version: row.updatedAt.getTime(), credentials, pausedLanes };
  }

  async list(appId: string): Promise<ShownVendor[]> {
    return (await this.repository.list(appId)).map((row) => {
      const { vendor, profile, part } = row;
      return { vendor: vendor as Vendor, profile, part, ...this.#sealed.show(row) };
    });
  }

  /** @param check undefined: the vendor is not asked @throws AppError INCORRECT_TYPE, which never names the value; NOT_FOUND for an unknown application */
  async set(
    { appId, vendor, profile, fields }: Omit<RpcData<typeof vendorsRpc.set>, 'isUnchecked'>,
    check?: CredentialCheck,
  ): Promise<{ credentials: ShownVendor; problem: string | null }> {
    const given = vendor === 'web-push' ? await this.#withKey(appId, profile, fields) : fields;
    const { shown, secrets } = parseVendorCredentials(vendor, profile, given);
    await this.applications.assertKnown(appId);
    const part = partOf(shown);
    const key = { appId, vendor, profile, part };
    const credentials = { ...shown, ...secrets } as VendorCredentials;
    const problem = await check?.(appId, { vendor, profile, part, version: 0, credentials, pausedLanes: new Set() });
    if (problem?.isRefusal === true) throw appError('INCORRECT_TYPE', { message: problem.text });
    const { row, reply } = this.#sealed.seal(key, { shown, secrets });
    await this.repository.put(row);
    await this.#announce(appId, lanesOf(key));
    return { credentials: { vendor, profile, part, ...reply }, problem: problem?.text ?? null };
  }

  /** In all processes. @throws AppError NOT_FOUND */
  async change({ appId, ...key }: Key & { readonly appId: string }, change: LaneChange): Promise<void> {
    if (!(await this.lanes.change({ appId, ...key }, change))) throw noCredentials(key);
    await this.#announce(appId, change === 'resume' ? lanesOf(key) : []);
  }

  async remove({ appId, vendor, profile, part }: RpcData<typeof vendorsRpc.remove>): Promise<void> {
    const key = { vendor, profile, part };
    if (!(await this.repository.remove({ appId, ...key }))) throw noCredentials(key);
    await this.#announce(appId, []);
  }

  async assertSecretFits(): Promise<void> {
    this.#sealed.assertSecretFits(await this.repository.findAny());
  }

  async webPushKey(appId: string): Promise<string> {
    const key = { vendor: 'web-push', profile: DEFAULT_PROFILE, part: '' } as const;
    const row = (await this.#known.get(appId)).rows.find((one) => isNamed(one, key));
    if (row === undefined) throw noCredentials(key);
    return row.shown['publicKey'] ?? '';
  }

  /** A replaced key would end all subscriptions. */
  async #withKey(appId: string, profile: string, fields: Readonly<Record<string, string>>) {
    if (fields['privateKey'] !== undefined) return fields;
    const known = await this.find(appId, { vendor: 'web-push', profile, part: '' });
    return { ...fields, privateKey: known?.credentials.privateKey ?? newVapidKeys().privateKey };
  }

  /** Senders resume the lanes, too, when they hear of it, even if this process cannot: until then they may see the state before. */
  async #announce(appId: string, resumed: string[]): Promise<void> {
    this.#known.forget(appId);
    this.broadcasts.send(broadcastContracts.vendorsChanged, { appId, resumed });
    if (resumed.length > 0) await this.batches.resume(appId, resumed);
  }
}

function isNamed(row: Row, { vendor, profile, part }: Key): boolean {
  return row.vendor === vendor && row.profile === profile && row.part === part;
}

export function vendorContext({ appId, vendor, profile, part }: RowKey): string {
  return `vendor credentials of ${appId} for ${vendor} ${profile} ${part}`;
}

export function noCredentials({ vendor, profile, part }: Key): Error {
  const of = [
    profile === DEFAULT_PROFILE ? '' : ` of the profile ${profile}`,
    part === '' ? '' : ` of the team ${part}`,
  ];
  return appError('NOT_FOUND', { message: `The application has no credentials for ${vendor}${of.join('')}.` });
}

export function topicsOf(text: string): string[] {
  return text.split(',').flatMap((topic) => topic.trim() || []);
}

/** @throws AppError INCORRECT_TYPE, which names the field, never its value */
export function parseVendorCredentials(
  vendor: Vendor,
  profile: string,
  fields: Readonly<Record<string, string>>,
): SplitCredentials {
  const problem = credentialProblem(vendor, VENDOR_CREDENTIALS[vendor], fields) ?? PROBLEMS[vendor]?.(fields, profile);
  if (problem !== undefined) throw appError('INCORRECT_TYPE', { message: problem });
  const { shown, secrets } = splitCredentials(VENDOR_CREDENTIALS[vendor], fields);
  return { shown: { ...shown, ...DERIVED[vendor]?.(secrets) }, secrets };
}

type Derive = (secrets: Readonly<Record<string, string>>) => Record<string, string>;

const DERIVED: Readonly<Partial<Record<Vendor, Derive>>> = {
  fcm: ({ serviceAccount = '' }) => ({ projectId: parseServiceAccount(serviceAccount)?.project_id ?? '' }),
  'web-push': ({ privateKey = '' }) => ({ publicKey: publicKeyOf(privateKey) ?? '' }),
};

type Problem = (fields: Readonly<Record<string, string>>, profile: string) => string | undefined;

const PROBLEMS: Readonly<Partial<Record<Vendor, Problem>>> = {
  apns: ({ privateKey = '' }, profile) => {
    if (profile !== DEFAULT_PROFILE) return 'apns has no profiles: the topic of an installation selects the team.';
    return isSigningKey(privateKey, 'ec', 'prime256v1')
      ? undefined
      : 'privateKey: must be the .p8 file that developer.apple.com has given for the key (a PEM text, curve P-256)';
  },
  'web-push': ({ privateKey = '' }, profile) => {
    if (profile !== DEFAULT_PROFILE) return 'web-push has no profiles: a browser has one subscription.';
    return publicKeyOf(privateKey) === undefined
      ? 'privateKey: must be a private VAPID key: 32 bytes in base64url. Leave it out to have one generated.'
      : undefined;
  },
  fcm: ({ serviceAccount = '' }) => {
    const account = parseServiceAccount(serviceAccount);
    if (account === undefined)
      return 'serviceAccount: must be the JSON file of a service account with project_id, client_email and private_key (Firebase console, Project settings, Service accounts, Generate new private key)';
    return isSigningKey(account.private_key, 'rsa')
      ? undefined
      : 'serviceAccount: its private_key is not an RSA key. Generate a new private key in the Firebase console.';
  },
};

function isSigningKey(pem: string, type: 'ec' | 'rsa', curve?: string): boolean {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === type && key.asymmetricKeyDetails?.namedCurve === curve;
  } catch {
    return false;
  }
}

export interface ServiceAccount {
  readonly project_id: string;
  readonly client_email: string;
  readonly private_key: string;
}

const PROJECT_ID = /^[a-z0-9:.-]{1,100}$/;

export function parseServiceAccount(text: string): ServiceAccount | undefined {
  try {
    const account = JSON.parse(text) as Partial<Record<keyof ServiceAccount, unknown>>;
    const { project_id: project, client_email: email, private_key: key } = account;
    if (typeof project !== 'string' || typeof email !== 'string' || typeof key !== 'string') return undefined;
    return PROJECT_ID.test(project) ? { project_id: project, client_email: email, private_key: key } : undefined;
  } catch {
    return undefined;
  }
}

function partOf({ teamId, region = 'cn' }: Readonly<Record<string, string>>): string {
  return teamId ?? (region === 'cn' ? '' : OUTSIDE_CHINA);
}
