import { DEFAULT_PROFILE, type JsonObject } from '#contracts';
import type { PushJob, TargetedInstallation, VendorAddress } from '../pushes/push.row.js';
import { ANDROID_VENDORS, laneName, laneVendor, type VendorChannelKey } from './vendor-channel.rules.js';

export interface VendorShare {
  readonly objectId: string;
  readonly isBulk: boolean;
  /** Apple devices whose badges go up by one. */
  readonly badges: ReadonlySet<string>;
  readonly lanes: ReadonlyMap<string, readonly string[]>;
  /** By vendor and reason, the number of devices that take another channel. */
  readonly missing: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export function badgesOf({ badges }: VendorShare): readonly string[] {
  return [...badges];
}

export function countsOfShare({ objectId, lanes, missing }: VendorShare): readonly object[] {
  const targeted = [...lanes].map(([lane, ids]) => ({
    objectId,
    vendor: laneVendor(lane),
    targeted: ids.length,
    reasons: {},
  }));
  const others = [...missing].map(([vendor, reasons]) => ({
    objectId,
    vendor,
    targeted: 0,
    reasons: Object.fromEntries(reasons),
  }));
  return [...targeted, ...others];
}

type RoutedPush = Pick<PushJob, 'objectId' | 'message' | 'prod'>;

/** Without a lane, `reason` says why the named vendor does not take the device. */
interface Route {
  readonly lane?: string;
  readonly missing?: readonly [vendor: string, reason: string];
}

const APPLE_PLATFORMS: ReadonlySet<string> = new Set(['ios', 'macos', 'tvos', 'watchos']);

export const OUTSIDE_CHINA = 'intl';

/** The vendor's channel if the application has credentials for it, else the device's own queue (docs/decisions.md, Channels of vendors). */
export function routePage(
  push: RoutedPush,
  installations: readonly TargetedInstallation[],
  { channels, isBulk }: { readonly channels: readonly VendorChannelKey[]; readonly isBulk: boolean },
): { installations: TargetedInstallation[]; share: VendorShare | undefined } {
  const lanes = new Map<string, string[]>();
  const missing = new Map<string, Map<string, number>>();
  const counting = new Set([...APPLE_PLATFORMS].filter((platform) => countsBadgesUp(push, platform)));
  const badges = new Set<string>();
  const routed = installations.map((installation) => {
    const { lane, missing: reason } = routeOf(push, installation, channels);
    if (reason !== undefined) count(missing, ...reason);
    if (lane === undefined) return withQueue(push, installation);
    if (counting.has(installation.deviceType ?? '')) badges.add(installation.objectId);
    const targets = lanes.get(lane);
    if (targets === undefined) lanes.set(lane, [installation.objectId]);
    else targets.push(installation.objectId);
    return { ...installation, lane };
  });
  if (lanes.size === 0 && missing.size === 0) return { installations: routed, share: undefined };
  return { installations: routed, share: { objectId: push.objectId, isBulk, badges, lanes, missing } };
}

/** Without an id, the device has no own queue. */
function withQueue({ message }: RoutedPush, installation: TargetedInstallation): TargetedInstallation {
  const isLeftOut = message.isForVendorsOnly === true && installation.deviceType === 'android';
  return isLeftOut ? { ...installation, installationId: null } : installation;
}

function routeOf(push: RoutedPush, installation: TargetedInstallation, channels: readonly VendorChannelKey[]): Route {
  const { address, deviceType } = installation;
  if (address === undefined || deviceType === null) return {};
  if (APPLE_PLATFORMS.has(deviceType)) return address.hasToken ? appleRoute(push, address, channels) : {};
  if (deviceType === 'web') return webRoute(push, address, channels);
  return deviceType === 'android' ? androidRoute(push, address, channels) : {};
}

function webRoute({ prod }: RoutedPush, address: VendorAddress, all: readonly VendorChannelKey[]): Route {
  if (!address.hasSubscription) return {};
  const channel = all.find(({ vendor, profile }) => vendor === 'web-push' && profile === DEFAULT_PROFILE);
  return channel === undefined ? { missing: ['web-push', 'no credentials'] } : { lane: laneName(channel, prod) };
}

function appleRoute({ message, prod }: RoutedPush, address: VendorAddress, all: readonly VendorChannelKey[]): Route {
  const teams = all.filter(({ vendor }) => vendor === 'apns');
  if (teams.length === 0) return { missing: ['apns', 'no credentials'] };
  const { topic = address.topic, teamId = address.teamId } = message.apns ?? {};
  // A team without credentials is a placeholder, or the former team of an app that was transferred.
  const named = teams.filter(({ part }) => part === teamId);
  const candidates = teamsOf(topic, named.length > 0 ? named : teams);
  const [team] = candidates;
  if (team !== undefined && candidates.length === 1) return { lane: laneName(team, prod) };
  if (candidates.length > 1) return { missing: ['apns', 'several teams, and none is named'] };
  return { missing: ['apns', topic === null ? 'no topic' : 'no credentials for the topic'] };
}

/** A topic may have a suffix, such as `.voip`, and one team's bundle id may begin another's: the longest one counts. */
function teamsOf(topic: string | null, teams: readonly VendorChannelKey[]): readonly VendorChannelKey[] {
  if (topic === null) return teams.filter(({ topics }) => topics.length === 1);
  const bundleIds = teams.flatMap(({ topics }) => topics).filter((known) => `${topic}.`.startsWith(`${known}.`));
  const longest = bundleIds.reduce((one, other) => (other.length > one.length ? other : one), '');
  return teams.filter(({ topics }) => topics.includes(longest));
}

function androidRoute({ message, prod }: RoutedPush, address: VendorAddress, all: readonly VendorChannelKey[]): Route {
  const name = address.vendor?.toLowerCase() ?? '';
  const isAbroad = name === 'mi-intl';
  const { vendor } = ANDROID_VENDORS.get(isAbroad ? 'mi' : name) ?? {};
  if (vendor === undefined || !address.hasRegistrationId) return {};
  const profile = address.profile ?? DEFAULT_PROFILE;
  const channel = all.find(
    (one) => one.vendor === vendor && one.profile === profile && (one.part === OUTSIDE_CHINA) === isAbroad,
  );
  return channel === undefined
    ? { missing: [vendor, `no credentials of the profile${message.isForVendorsOnly === true ? ', and no text' : ''}`] }
    : { lane: laneName(channel, prod) };
}

function countsBadgesUp({ message }: RoutedPush, platform: string): boolean {
  const body = JSON.parse(message.bodies[platform] ?? message.body) as JsonObject;
  const native = body['aps'];
  const isNative = typeof native === 'object' && native !== null && !Array.isArray(native);
  return (isNative ? native['badge'] : body['badge']) === 'Increment';
}

function count(missing: Map<string, Map<string, number>>, vendor: string, reason: string): void {
  const reasons = missing.get(vendor) ?? new Map<string, number>();
  missing.set(vendor, reasons.set(reason, (reasons.get(reason) ?? 0) + 1));
}
