import { describe, expect, it } from 'vitest';
import type { TargetedInstallation, VendorAddress } from '../pushes/push.row.js';
import { laneName, parseLane, type VendorChannelKey } from './vendor-channel.rules.js';
import { routePage } from './vendor-route.rules.js';

const NOTHING: VendorAddress = {
  hasToken: false,
  hasRegistrationId: false,
  hasSubscription: false,
  vendor: null,
  profile: null,
  topic: null,
  teamId: null,
};
const device = (deviceType: string, address: Partial<VendorAddress>): TargetedInstallation => ({
  objectId: 'device',
  partition: 0,
  installationId: null,
  deviceType,
  address: { ...NOTHING, ...address },
});
const apns = (part: string, ...topics: string[]): VendorChannelKey => ({
  vendor: 'apns',
  profile: '_default',
  part,
  topics,
});
const android = (vendor: VendorChannelKey['vendor'], profile = '_default', part = ''): VendorChannelKey => ({
  vendor,
  profile,
  part,
  topics: [],
});
const push = (apnsApp: object = {}, bodies: Record<string, string> = {}) => ({
  objectId: 'push',
  prod: 'prod' as const,
  message: { body: '{"badge":"Increment"}', bodies, apns: apnsApp },
});
const route = (target: TargetedInstallation, channels: VendorChannelKey[], apnsApp: object = {}) => {
  const { installations, share } = routePage(push(apnsApp), [target], { channels, isBulk: false });
  const [[vendor, reasons] = []] = [...(share?.missing ?? [])];
  return (
    installations[0]?.lane ?? (vendor === undefined ? 'own queue' : `${vendor}: ${[...(reasons?.keys() ?? [])].join()}`)
  );
};

describe('the route of an Apple device', () => {
  const A = apns('TEAMAAAAAA', 'com.a');
  const B = apns('TEAMBBBBBB', 'com.b', 'com.c');
  const INHOUSE = apns('TEAMCCCCCC', 'com.a.inhouse');

  it.each([
    [{ topic: 'com.a' }, [A, B], {}, 'apns/_default/TEAMAAAAAA/prod'],
    [{ topic: 'com.c.voip' }, [A, B], {}, 'apns/_default/TEAMBBBBBB/prod'],
    [{ teamId: 'TEAMBBBBBB', topic: 'com.b' }, [A, B], {}, 'apns/_default/TEAMBBBBBB/prod'],
    [
      { teamId: 'TEAMBBBBBB', topic: 'com.b' },
      [A, B, apns('TEAMCCCCCC', 'com.b')],
      {},
      'apns/_default/TEAMBBBBBB/prod',
    ],
    [{ teamId: 'YOUR_TEAM_ID', topic: 'com.b' }, [A, B], {}, 'apns/_default/TEAMBBBBBB/prod'],
    [{ topic: 'com.a' }, [A, B], { teamId: 'LeanCloud' }, 'apns/_default/TEAMAAAAAA/prod'],
    [{ teamId: 'TEAMBBBBBB', topic: 'com.a' }, [A, B], {}, 'apns: no credentials for the topic'],
    [{ topic: 'com.a' }, [A, B], { topic: 'com.b' }, 'apns/_default/TEAMBBBBBB/prod'],
    [{}, [A], {}, 'apns/_default/TEAMAAAAAA/prod'],
    [{}, [B], {}, 'apns: no topic'],
    [{ topic: 'com.x' }, [A, B], {}, 'apns: no credentials for the topic'],
    [{ topic: 'com.a' }, [android('fcm')], {}, 'apns: no credentials'],
    [{ topic: 'com.a' }, [A, apns('TEAMCCCCCC', 'com.a')], {}, 'apns: several teams, and none is named'],
    [{ topic: 'com.a.inhouse' }, [A, INHOUSE], {}, 'apns/_default/TEAMCCCCCC/prod'],
    [{ topic: 'com.a.inhouse.voip', teamId: 'LeanCloud' }, [A, INHOUSE], {}, 'apns/_default/TEAMCCCCCC/prod'],
    [{ topic: 'com.a.voip' }, [A, INHOUSE], {}, 'apns/_default/TEAMAAAAAA/prod'],
    [{ topic: 'com.a.inhouse', teamId: 'TEAMAAAAAA' }, [A, INHOUSE], {}, 'apns/_default/TEAMAAAAAA/prod'],
  ])('that says %j, with %j and %j, is %s', (address, channels, app, expected) => {
    expect(route(device('ios', { hasToken: true, ...address }), channels, app)).toBe(expected);
  });

  it('without a token is its own queue', () => {
    expect(route(device('ios', {}), [A])).toBe('own queue');
  });
});

describe('the route of an Android device', () => {
  it.each([
    [{ vendor: 'HMS' }, [android('huawei')], 'huawei/_default//prod'],
    [{ vendor: 'mz' }, [android('meizu')], 'meizu/_default//prod'],
    [{ vendor: 'mi-intl' }, [android('xiaomi'), android('xiaomi', '_default', 'intl')], 'xiaomi/_default/intl/prod'],
    [{ vendor: 'mi' }, [android('xiaomi'), android('xiaomi', '_default', 'intl')], 'xiaomi/_default//prod'],
    [{ vendor: 'oppo', profile: 'tablet' }, [android('oppo'), android('oppo', 'tablet')], 'oppo/tablet//prod'],
    [{ vendor: 'oppo', profile: 'watch' }, [android('oppo')], 'oppo: no credentials of the profile'],
    [{ vendor: 'lc' }, [android('oppo')], 'own queue'],
    [{ vendor: null }, [android('oppo')], 'own queue'],
    [{ vendor: 'oppo', hasRegistrationId: false }, [android('oppo')], 'own queue'],
  ])('that says %j, with %j, is %s', (address, channels, expected) => {
    expect(route(device('android', { hasRegistrationId: true, ...address }), channels)).toBe(expected);
  });
});

describe('a message without a text for the own queue', () => {
  const only = {
    objectId: 'push',
    prod: 'prod' as const,
    message: { body: '{}', bodies: {}, isForVendorsOnly: true },
  } as const;
  const pages = (...channels: VendorChannelKey[]) => {
    const address = { hasRegistrationId: true, vendor: 'HMS' };
    const devices = ['android', 'wp'].map((type) => ({ ...device(type, address), installationId: type }));
    return routePage(only, devices, { channels, isBulk: true });
  };

  it('leaves out Android devices that no vendor reaches, and says why', () => {
    const { installations, share } = pages();
    expect(installations.map(({ installationId }) => installationId)).toEqual([null, 'wp']);
    const reason = 'no credentials of the profile, and no text';
    expect(share?.missing).toEqual(new Map([['huawei', new Map([[reason, 1]])]]));
  });

  it('goes to those that one reaches', () => {
    expect(pages(android('huawei')).installations[0]).toMatchObject({
      installationId: 'android',
      lane: 'huawei/_default//prod',
    });
  });
});

describe('the route of a browser', () => {
  it.each([
    [true, [android('web-push')], 'web-push/_default//prod'],
    [true, [android('fcm')], 'web-push: no credentials'],
    [false, [android('web-push')], 'own queue'],
  ])('with a subscription: %s, and %j, is %s', (hasSubscription, channels, expected) => {
    expect(route(device('web', { hasSubscription }), channels)).toBe(expected);
  });
});

describe('a page of devices', () => {
  it('is shared out by lanes, and counts badges up where the push says so', () => {
    const devices = ['a', 'b', 'c'].map((objectId) => ({ ...device('ios', { hasToken: true }), objectId }));
    const channels = [apns('TEAMAAAAAA', 'com.a')];
    const { share } = routePage(push(), [...devices, device('web', {})], { channels, isBulk: true });
    expect(share).toEqual({
      objectId: 'push',
      isBulk: true,
      badges: new Set(['a', 'b', 'c']),
      lanes: new Map([['apns/_default/TEAMAAAAAA/prod', ['a', 'b', 'c']]]),
      missing: new Map(),
    });
  });
});

describe('the badges that a push counts up', () => {
  const once = '{"alert":"x"}';
  it.each<[Record<string, string>, string[]]>([
    [{}, ['ios', 'macos', 'tvos', 'watchos']],
    [{ ios: '{"badge":3}' }, ['macos', 'tvos', 'watchos']],
    [{ macos: '{"aps":{"badge":"Increment"},"badge":1}', ios: once, tvos: once, watchos: once }, ['macos']],
    [{ ios: once, macos: once, tvos: once, watchos: once }, []],
  ])('with the bodies %j are those of %j', (bodies, expected) => {
    const devices = ['ios', 'macos', 'tvos', 'watchos', 'android'].map((deviceType) => ({
      ...device(deviceType, { hasToken: true, hasRegistrationId: true, vendor: 'fcm' }),
      objectId: deviceType,
    }));
    const channels = [apns('TEAMAAAAAA', 'com.a'), android('fcm')];
    const { share } = routePage(push({}, bodies), devices, { channels, isBulk: true });
    expect([...(share?.badges ?? [])]).toEqual(expected);
  });
});

describe('the name of a lane', () => {
  it('says what it was made of', () => {
    const key = { vendor: 'apns', profile: '_default', part: 'TEAMAAAAAA' } as const;
    expect(parseLane(laneName(key, 'dev'))).toEqual({ ...key, prod: 'dev' });
    expect(parseLane('later-release/_default//prod')).toBeUndefined();
  });
});
