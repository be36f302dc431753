import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#contracts';
import { isForOneDevice } from '../pushes/push.row.js';
import { messageForDevices, parsePush, parsePushToDevices } from './push-request.rules.js';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const at = (iso: string) => new Date(iso);
const parse = (body: JsonObject) => parsePush({ data: { alert: 'a' }, ...body }, { now: NOW, prod: 'dev' });
const refusal = (errorName: string) => expect.objectContaining({ errorName }) as Error;

describe('parsePush', () => {
  it('has the defaults of the API', () => {
    expect(parse({})).toEqual({
      notification: {
        createdAt: NOW,
        dueAt: NOW,
        expiresAt: at('2026-01-08T00:00:00.000Z'),
        target: { where: [] },
        data: { alert: 'a' },
        message: { body: '{"alert":"a","_expiration_time":"2026-01-08T00:00:00.000Z"}', bodies: {} },
        notificationId: null,
        prod: 'dev',
        flowControl: null,
      },
      reqId: null,
    });
  });

  it('reads null as an omitted member, as SDKs send it', () => {
    const names = ['where', 'channels', 'cql', 'push_time', 'expiration_time', 'expiration_interval', 'prod'];
    const others = ['flow_control', 'req_id', 'notification_id', '_notificationChannel'];
    expect(parse(Object.fromEntries([...names, ...others].map((name) => [name, null])))).toEqual(parse({}));
  });

  it.each<[JsonObject, JsonObject]>([
    [{ alert: 'a', title: null, badge: null, ios: null, mi: null }, { alert: 'a' }],
    [{ ios: { alert: 'i' }, android: null, mi: null }, { ios: { alert: 'i' } }],
    [
      { alert: 'a', ios: { alert: null, badge: 1 } },
      { alert: 'a', ios: { badge: 1 } },
    ],
    [
      { alert: 'a', aps: { alert: null, 'content-available': 1 } },
      { alert: 'a', aps: { 'content-available': 1 } },
    ],
    [
      { alert: 'a', hms: { message: null }, mi: { payload: null, extra: { channel_id: null, a: [null] } } },
      { alert: 'a', hms: {}, mi: { extra: { a: [null] } } },
    ],
  ])('reads %j without the members that are null', (data, given) => {
    const [one, other] = [parse({ data }), parse({ data: given })];
    expect(one).toEqual(other);
    expect(one.notification.data).toEqual(given);
  });

  it('keeps custom members that are null', () => {
    const data = { alert: 'a', custom: null, more: { b: null } };
    expect(parse({ data }).notification.data).toEqual(data);
  });

  it.each<[string, JsonObject, JsonObject[]]>([
    ['a where', { where: { city: 'Ulm' } }, [{ city: 'Ulm' }]],
    ['an empty where', { where: {} }, []],
    ['an empty where of PHP', { where: [] }, []],
    ['a list of conditions', { where: [{ city: 'Ulm' }, { a: 1 }] }, [{ city: 'Ulm' }, { a: 1 }]],
    ['a channel', { channels: 'news' }, [{ channels: { $in: ['news'] } }]],
    ['the channel of all devices', { channels: '' }, [{ channels: { $in: [''] } }]],
    [
      'channels and a where',
      { channels: ['a', '新闻'], where: { city: 'Ulm' } },
      [{ city: 'Ulm' }, { channels: { $in: ['a', '新闻'] } }],
    ],
  ])('reads %s', (_, body, where) => {
    expect(parse(body).notification.target).toEqual({ where });
  });

  it('refuses an unknown member where it may be a misspelled condition, so that it never means all devices', () => {
    expect(() => parse({ channel: ['news'] })).toThrow(refusal('INCORRECT_TYPE'));
    expect(() => parse({ wher: { city: 'Ulm' }, where: null })).toThrow(refusal('INCORRECT_TYPE'));
    expect(parse({ device_profile: 'a', channels: 'news' })).toEqual(parse({ channels: 'news' }));
    expect(parse({ device_profile: 'a', where: {} })).toEqual(parse({}));
    const members = { topic: 'a.b', apns_team_id: 'T', notification_id: 'n', req_id: 'r', flow_control: 1000, _any: 1 };
    expect(parse({ ...members, prod: 'dev', expiration_interval: 1, push_time: NOW.toISOString() }).reqId).toBe('r');
  });

  it.each<[JsonObject, boolean]>([
    [{ where: { installationId: 'i' } }, false],
    [{ where: { objectId: 'o', city: 'Ulm' } }, false],
    [{ where: { installationId: 'i' }, channels: ['news'] }, false],
    [{ where: { installationId: { $in: ['i', 'j'] } } }, true],
    [{ where: { $or: [{ installationId: 'i' }, { installationId: 'j' }] } }, true],
    [{ where: { city: 'Ulm' } }, true],
  ])('%j may be for several devices: %s', (body, isForSeveral) => {
    expect(isForOneDevice(parse(body).notification.target)).toBe(!isForSeveral);
  });

  it.each<[string, JsonObject, string, string]>([
    ['at once', { push_time: '2026-01-01T00:00:59Z' }, '2026-01-01T00:00:00Z', '2026-01-08T00:00:00Z'],
    ['for what is past', { push_time: '2025-01-01T00:00:00Z' }, '2026-01-01T00:00:00Z', '2026-01-08T00:00:00Z'],
    ['later', { push_time: '2026-01-01T00:01:00Z' }, '2026-01-01T00:01:00Z', '2026-01-08T00:01:00Z'],
    [
      'of a Date',
      { push_time: { __type: 'Date', iso: '2026-01-02T00:00:00Z' } },
      '2026-01-02T00:00:00Z',
      '2026-01-09T00:00:00Z',
    ],
    ['with an end', { expiration_time: '2026-01-01T08:00:01+08:00' }, '2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'],
    ['with a life', { expiration_interval: 1 }, '2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'],
    ['with a life of Swift', { expiration_interval: 1.9 }, '2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'],
    [
      'with a life from then on',
      { push_time: '2026-01-01T01:00:00Z', expiration_interval: 60 },
      '2026-01-01T01:00:00Z',
      '2026-01-01T01:01:00Z',
    ],
  ])('reads a time %s', (_, body, due, end) => {
    expect(parse(body).notification).toMatchObject({ dueAt: at(due), expiresAt: at(end) });
  });

  it.each([
    { push_time: 'soon' },
    { push_time: 1_767_225_600 },
    { push_time: '2037-01-01T00:00:00Z' },
    { expiration_time: '2037-01-01T00:00:00Z' },
    { expiration_interval: 0 },
    { expiration_interval: -1 },
    { expiration_interval: 0.9 },
    { expiration_interval: 1e300 },
    { expiration_interval: '60' },
    { expiration_interval: 60, expiration_time: '2026-01-02T00:00:00Z' },
    { expiration_time: '2026-01-01T00:00:00Z' },
    { expiration_time: '2026-01-02T00:00:00Z', push_time: '2026-01-03T00:00:00Z' },
    { prod: 'test' },
    { flow_control: '1000' },
    { flow_control: '' },
    { flow_control: true },
    { push_time: '' },
    { push_time: true },
    { expiration_time: '' },
    { expiration_time: ' ' },
    { expiration_time: [] },
    { expiration_time: {} },
    { expiration_time: 1_767_225_600_000 },
    { expiration_time: { __type: 'Date', iso: '' } },
    { expiration_interval: '' },
    { expiration_interval: true },
    { prod: '' },
    { prod: true },
    { notification_id: '' },
    { notification_id: 7 },
    { _notificationChannel: '' },
    { _notificationChannel: ' ' },
    { data: '' },
    { data: 'hello' },
    { flow_control: 1e12 },
    { req_id: 'no-dash' },
    { req_id: 'seventeenletters1' },
    { req_id: '' },
    { req_id: 7 },
    { notification_id: 'ä' },
    { _notificationChannel: 7 },
    { data: [] },
    { data: { alert: 'a\0' } },
    { data: { 'half \ud800': 1 } },
  ] satisfies JsonObject[])('refuses %j', (body) => {
    expect(() => parse(body)).toThrow(refusal('INCORRECT_TYPE'));
  });

  it.each<[JsonObject, string]>([
    [{ data: null }, 'KEY_REQUIRED'],
    [{ cql: 'select * from _Installation' }, 'NOT_SUPPORTED'],
    [{ cql: '' }, 'NOT_SUPPORTED'],
    [{ where: 'city' }, 'INVALID_QUERY'],
    [{ where: '' }, 'INVALID_QUERY'],
    [{ where: 7 }, 'INVALID_QUERY'],
    [{ where: [{ city: 'Ulm' }, 7] }, 'INVALID_QUERY'],
    [{ where: '7' }, 'INVALID_QUERY'],
    [{ channels: [] }, 'INVALID_CHANNEL'],
    [{ channels: ['with space'] }, 'INVALID_CHANNEL'],
    [{ channels: [7] }, 'INVALID_CHANNEL'],
    [{ channels: 7 }, 'INVALID_CHANNEL'],
    [{ channels: ' ' }, 'INVALID_CHANNEL'],
    [{ channels: [null] }, 'INVALID_CHANNEL'],
    [{ channels: [['news']] }, 'INVALID_CHANNEL'],
    [{ channels: { a: 1 } }, 'INVALID_CHANNEL'],
  ])('refuses %j with %s', (body, errorName) => {
    expect(() => parse(body)).toThrow(refusal(errorName));
  });

  it('accepts up to 4095 bytes', () => {
    const whole = { data: { alert: 'ä'.repeat(2037) } };
    expect(Buffer.byteLength(JSON.stringify(whole))).toBe(4095);
    expect(() => parse(whole)).not.toThrow();
    expect(() => parse({ data: { alert: `${whole.data.alert}x` } })).toThrow(refusal('OBJECT_TOO_LARGE'));
  });

  it('raises a low flow control, and keeps a high one', () => {
    const flows = [0, -1, 0.5, 1, 999, 1_000, 1_000.9, 5_000, 1_000_000_000];
    expect(flows.map((flow) => parse({ flow_control: flow }).notification.flowControl)).toEqual([
      1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 5_000, 1_000_000_000,
    ]);
  });

  it('keeps names', () => {
    const { notification, reqId } = parse({ req_id: 'abcABC0123456789', notification_id: 'n1', prod: 'prod' });
    expect([reqId, notification.notificationId, notification.prod]).toEqual(['abcABC0123456789', 'n1', 'prod']);
  });
});

describe('parsePushToDevices', () => {
  const parseDevices = (body: JsonObject) =>
    parsePushToDevices({ data: { alert: 'a' }, ...body }, { now: NOW, prod: 'dev' }).notification;

  it.each<[JsonObject, JsonObject, boolean]>([
    [{ device_type: 'android', device_ids: ['i'] }, { deviceType: 'android', installationId: 'i' }, false],
    [{ device_type: 'My-TV_2', device_ids: ['i'] }, { deviceType: 'My-TV_2', installationId: 'i' }, false],
    [{ device_type: 'web', device_ids: ['i', 'j'] }, { deviceType: 'web', installationId: { $in: ['i', 'j'] } }, true],
    [{ device_type: 'ios', device_ids: ['t'] }, { deviceType: 'ios', deviceToken: 't' }, true],
    [
      { device_type: 'android', device_ids: ['r'], vendor: 'mi' },
      { deviceType: 'android', vendor: { $regex: '^(mi)(-intl)?$', $options: 'i' }, registrationId: 'r' },
      true,
    ],
    [
      { device_type: 'android', device_ids: ['r', 's'], vendor: 'a.b|c' },
      {
        deviceType: 'android',
        vendor: { $regex: String.raw`^(a\.b\|c)(-intl)?$`, $options: 'i' },
        registrationId: { $in: ['r', 's'] },
      },
      true,
    ],
  ])('reads %j', (body, condition, isForSeveral) => {
    const { target } = parseDevices(body);
    expect(target).toMatchObject({ where: [condition] });
    expect(isForOneDevice(target)).toBe(!isForSeveral);
  });

  it('accepts 500 ids, which do not count towards the size', () => {
    const device_ids = Array.from({ length: 500 }, (_, index) => `installation-${String(index)}`);
    expect(() => parseDevices({ device_type: 'web', device_ids })).not.toThrow();
    expect(() => parseDevices({ device_type: 'web', device_ids: [...device_ids, 'one more'] })).toThrow(
      refusal('INCORRECT_TYPE'),
    );
  });

  it.each<[JsonValue, string]>([
    ['i', 'INCORRECT_TYPE'],
    [[], 'INCORRECT_TYPE'],
    [[7], 'INCORRECT_TYPE'],
    [[''], 'INCORRECT_TYPE'],
    [[' '], 'INCORRECT_TYPE'],
    ['', 'INCORRECT_TYPE'],
    [{ 0: 'i' }, 'INCORRECT_TYPE'],
    [['x'.repeat(257)], 'INCORRECT_TYPE'],
    [null, 'KEY_REQUIRED'],
  ])('refuses the ids %j', (device_ids, errorName) => {
    expect(() => parseDevices({ device_type: 'web', device_ids })).toThrow(refusal(errorName));
  });

  it.each<JsonValue>(['A B', '', 7, ['web']])('refuses the type %j', (device_type) => {
    expect(() => parseDevices({ device_type, device_ids: ['i'] })).toThrow(refusal('INCORRECT_TYPE'));
  });

  it.each<JsonValue>(['', ' ', 7, true, ['mi']])('refuses the vendor %j', (vendor) => {
    expect(() => parseDevices({ device_type: 'android', device_ids: ['i'], vendor })).toThrow(
      refusal('INCORRECT_TYPE'),
    );
  });
});

const EXPIRES = new Date('2026-01-08T00:00:00.000Z');
const _expiration_time = '2026-01-08T00:00:00.000Z';

function read(data: JsonObject, added: JsonObject = {}) {
  const { message, platforms } = messageForDevices(data, added, EXPIRES);
  const bodies = Object.entries(message.bodies).map(([platform, body]) => [platform, JSON.parse(body) as unknown]);
  return { body: JSON.parse(message.body) as unknown, bodies: Object.fromEntries(bodies) as unknown, platforms };
}

describe('messageForDevices', () => {
  it('keeps all members, and adds the expiry', () => {
    const data = { alert: { title: 't' }, silent: true, 'thread-id': 'x', 'a.b': [null, { $c: 1 }] };
    expect(read(data)).toEqual({ body: { ...data, _expiration_time }, bodies: {}, platforms: undefined });
  });

  it('replaces an expiry in the message', () => {
    expect(read({ _expiration_time: '1999', android: { _expiration_time: '1999' } })).toMatchObject({
      body: { _expiration_time },
      bodies: { android: { _expiration_time } },
    });
  });

  it('overrides common members by the block of a platform', () => {
    expect(read({ alert: 'all', n: 1, android: { alert: 'android' }, ios: { badge: 1 }, mi: { alert: 'mi' } })).toEqual(
      {
        body: { alert: 'all', n: 1, _expiration_time },
        bodies: {
          android: { alert: 'android', n: 1, _expiration_time },
          ios: { alert: 'all', n: 1, badge: 1, _expiration_time },
        },
        platforms: undefined,
      },
    );
  });

  it('is for the platforms that it has content for', () => {
    expect(read({ android: { alert: 'a' }, web: { alert: 'w' } }, { _notificationChannel: 'c' })).toEqual({
      body: { _notificationChannel: 'c', _expiration_time },
      bodies: {
        android: { alert: 'a', _notificationChannel: 'c', _expiration_time },
        web: { alert: 'w', _notificationChannel: 'c', _expiration_time },
      },
      platforms: ['android', 'web'],
    });
  });

  it('is for the vendors that it has content for, besides platforms', () => {
    const [mi, hms] = [{ title: 't', alert: 'mi' }, { message: {} }];
    expect(read({ ios: { alert: 'i' }, mi, hms })).toMatchObject({
      bodies: { ios: { alert: 'i' }, android: { ...mi, _expiration_time } },
      platforms: ['ios', 'android'],
    });
    const { target } = parse({ data: { mi, hms }, where: { city: 'Ulm' } }).notification;
    const vendor = { $regex: '^(mi|hms)(-intl)?$', $options: 'i' };
    const ofVendors = { $or: [{ deviceType: { $ne: 'android' } }, { vendor, registrationId: { $exists: true } }] };
    expect(target).toEqual({ where: [{ city: 'Ulm' }, ofVendors], platforms: ['android'] });
  });

  it.each<[JsonObject, JsonObject]>([
    [{ mi: { title: 'T', description: 'D' } }, { title: 'T', alert: 'D' }],
    [{ mi: { alert: 'A', description: 'D' } }, { alert: 'D' }],
    [{ hms: { message: { data: '{}' } }, oppo: { content: 'C' } }, { alert: 'C' }],
    [{ vivo: { title: 'T', content: 'C' } }, { title: 'T', alert: 'C' }],
    [{ mz: { noticeBarInfo: { title: 'T', content: 'C' } } }, { title: 'T', alert: 'C' }],
    [{ hms: { message: { notification: { title: 'T', body: 'B' } } } }, { title: 'T', alert: 'B' }],
    [{ hms: { message: { notification: { body: 'B' }, android: { notification: { body: 'N' } } } } }, { alert: 'N' }],
    [{ honor: { title: 'T', notification: { body: 'B' } } }, { title: 'T', alert: 'B' }],
    [{ fcm: { android: { notification: { body: 'B' } } } }, { alert: 'B' }],
  ])('has the text of %j for devices in their own queues', (data, expected) => {
    const { message } = messageForDevices(data, {}, EXPIRES);
    expect(JSON.parse(message.bodies['android'] ?? '')).toEqual({ ...expected, _expiration_time });
    expect(message.isForVendorsOnly).toBeUndefined();
  });

  it.each<JsonObject>([{ hms: { message: { data: '{}' } } }, { ios: { alert: 'i' }, fcm: { data: { n: 1 } } }])(
    'leaves out the own queues of Android devices where no block has a text: %j',
    (data) => {
      expect(parse({ data }).notification.message.isForVendorsOnly).toBe(true);
    },
  );

  it.each<[string, JsonObject, string[] | undefined]>([
    ['shared members', { alert: 'a', mi: { alert: 'mi' } }, undefined],
    ['a block of android', { android: { alert: 'a' }, mi: { alert: 'mi' } }, ['android']],
  ])('is for all vendors with %s', (_, data, platforms) => {
    const { target } = parse({ data }).notification;
    expect(target).toEqual({ where: [], ...(platforms === undefined ? {} : { platforms }) });
  });

  it('treats the name of a platform as an ordinary member if its value is no object', () => {
    expect(read({ web: 'https://example.com', mi: 5 }).body).toEqual({
      web: 'https://example.com',
      mi: 5,
      _expiration_time,
    });
  });

  it('copies the channel beside the message, unless the message has one', () => {
    expect(read({ _notificationChannel: 'inner' }, { _notificationChannel: 'outer' }).body).toMatchObject({
      _notificationChannel: 'inner',
    });
  });
});
