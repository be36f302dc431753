import { describe, expect, it } from 'vitest';
import type { PushDetails } from '#console-api';
import { commandOf, draftOf, newDraft, pushBodyOf, requestIdOf } from './new-push.rules';

const at = '2026-01-02T03:04:05.678Z';
const push: PushDetails = {
  ...{ objectId: 'p1', status: 'done', createdAt: at, title: 'Sale', targeted: 1, delivered: 1, error: null },
  ...{ expiresAt: at, startsAt: null, lifeSeconds: 1_800, flowControl: 2_500, prod: 'prod' },
  ...{ data: { title: 'Sale', alert: 'Half price', url: 'shop://sale' }, where: null },
  ...{ platforms: {}, vendors: {}, progress: null },
};
const again = (change: Partial<PushDetails>) => pushBodyOf(draftOf({ ...push, ...change }), 'UTC');

describe('a push that is sent again', () => {
  it('has the message, the life and the pace of the first', () => {
    const { data } = push;
    expect(again({})).toEqual({ data, expiration_interval: 1_800, flow_control: 2_500 });
    expect(again({ lifeSeconds: 604_800, flowControl: null, prod: 'dev' })).toEqual({ data, prod: 'dev' });
  });

  it.each([
    { ios: { alert: 'Half price' }, android: { alert: 'Half price', silent: true } },
    { alert: { title: 'Sale', body: 'Half price' }, title: 7 },
    { alert: '', silent: true },
  ])('has a message without texts of its own: %j', (data) => {
    const { alert, ...others } = data as Record<string, unknown>;
    expect(again({ data })?.['data']).toEqual(alert === '' ? { ...others, alert } : data);
  });

  it('has the texts for devices of one type in their fields', () => {
    const ios = { alert: 'Half off', badge: 1 };
    const data = { alert: 'Half price', ios, android: { title: 'Sale' }, web: { aps: {}, alert: 'a' } };
    const { texts, more } = draftOf({ ...push, data });
    expect(texts).toEqual({ ios: { title: '', alert: 'Half off' }, android: { title: 'Sale', alert: '' } });
    expect(JSON.parse(more)).toEqual({ ios: { badge: 1 }, web: data.web });
    expect(again({ data })?.['data']).toEqual(data);
  });

  it.each([{ channels: { $in: ['a, b', 'c'] } }, { $and: [{ level: 3 }, { deviceType: { $in: ['ios'] } }] }])(
    'has the audience of the first: %j',
    (where) => {
      expect(again({ where })?.['where']).toEqual(where);
    },
  );

  it('asks for an audience where the record hides an id of a device', () => {
    expect(again({ where: { $or: [{ installationId: '(hidden)' }, { level: 3 }] } })).toBeUndefined();
  });
});

describe('a draft', () => {
  it('to channels has no body without a name', () => {
    const draft = { ...newDraft(), audience: 'channels', alert: 'hello' } as const;
    expect(pushBodyOf({ ...draft, channels: ' , ' }, 'UTC')).toBeUndefined();
    expect(pushBodyOf({ ...draft, channels: 'news' }, 'UTC')).toMatchObject({ channels: ['news'] });
  });

  it('to single devices names each once, by any of its ids', () => {
    const draft = { ...newDraft(), audience: 'devices', alert: 'hello' } as const;
    expect(pushBodyOf({ ...draft, devices: ' \n, ' }, 'UTC')).toBeUndefined();
    const named = { $in: ['one', 'two', 'three'] };
    const where = { $or: [{ objectId: named }, { installationId: named }, { deviceToken: named }] };
    expect(pushBodyOf({ ...draft, devices: 'one\ntwo, three one\t' }, 'UTC')).toMatchObject({ where });
  });

  it('has texts for devices of one type, beside their further members', () => {
    const texts = { ios: { title: '', alert: 'Half off' }, web: { title: '', alert: '' } };
    const draft = { ...newDraft(), alert: 'Half price', texts, more: '{"ios":{"badge":1},"wp":"a"}' };
    const data = { alert: 'Half price', ios: { badge: 1, alert: 'Half off' }, wp: 'a' };
    expect(pushBodyOf(draft, 'UTC')).toEqual({ data });
    const native = { ...draft, more: '{"aps":{"alert":"old","badge":1},"web":{"aps":{}}}' };
    expect(pushBodyOf(native, 'UTC')?.['data']).toMatchObject({
      ios: { aps: { alert: { body: 'Half off' }, badge: 1 } },
    });
    expect(pushBodyOf({ ...draft, texts: { ios: { title: ' ', alert: '' } } }, 'UTC')?.['data']).toMatchObject({
      ios: { badge: 1 },
    });
    expect(pushBodyOf({ ...draft, more: '{"ios":"a"}' }, 'UTC')).toMatchObject({
      data: { ios: { alert: 'Half off' } },
    });
  });

  it('has a request id for each body', () => {
    const [one, other] = [{ data: { alert: 'a' } }, { data: { alert: 'b' } }];
    expect(requestIdOf('0123abcd', one)).toMatch(/^0123abcd[0-9a-f]{8}$/);
    expect(requestIdOf('0123abcd', one)).toBe(requestIdOf('0123abcd', { ...one }));
    expect(requestIdOf('0123abcd', one)).not.toBe(requestIdOf('0123abcd', other));
  });

  it('has a command, unless it has what the command line does not offer', () => {
    const body = { data: { alert: "it's" }, flow_control: 5_000 };
    expect(commandOf('shop', body)).toMatch(/ --all --pace 5000$/);
    expect(commandOf('shop', { ...body, prod: 'dev' })).toBeUndefined();
  });
});
