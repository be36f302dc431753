import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import type { JsonObject } from '#contracts';
import type { OutboundClient } from '#outbound';
import { PUSH } from '../../../test/vendor-push.js';
import { cut, objectIn, retryAfterMs } from '../vendor-channel.rules.js';
import { AndroidChannel, androidMessage, type AndroidProtocol, type VendorCall } from './android.channel.js';
import { honorProtocol, huaweiProtocol, xiaomiProtocol } from './authorized.protocols.js';
import { meizuProtocol, oppoProtocol, vivoProtocol } from './signed.protocols.js';

const NOW = new Date('2026-12-01T00:00:00Z');
const ID = '652f0c1e8a1b2c3d4e5f6a7b';
const URLS = { push: 'https://push', token: 'https://token' };
const PROTOCOLS: Readonly<Record<string, AndroidProtocol>> = {
  huawei: huaweiProtocol({ appId: '1', appSecret: 's' }, URLS),
  honor: honorProtocol({ appId: '1', clientId: 'c', clientSecret: 's' }, URLS),
  xiaomi: xiaomiProtocol({ packageName: 'com.example.app', appSecret: 's' }, { push: '', feedback: '' }),
  oppo: oppoProtocol({ appKey: 'k', masterSecret: 's' }, 'https://push'),
  vivo: vivoProtocol({ appId: '1', appKey: 'k', appSecret: 's' }, 'https://push'),
  meizu: meizuProtocol({ appId: '1', appSecret: 's' }, 'https://push'),
};
const protocolOf = (name: string): AndroidProtocol => {
  const protocol = PROTOCOLS[name];
  if (protocol === undefined) throw new Error(name);
  return protocol;
};
const messageOf = (data: JsonObject, { block }: AndroidProtocol) => {
  const message = { body: JSON.stringify(data), bodies: {} };
  const expiresAt = new Date('2026-12-01T01:00:00Z');
  const push = {
    appId: 'app',
    objectId: ID,
    data,
    message,
    prod: 'prod' as const,
    expiresAt,
    keyNo: 0,
    isRepeat: false,
  };
  return androidMessage(push, { block, title: 'Shop', now: NOW });
};
/** The first request of a message to two tokens, with its form as the vendor reads it. */
const requested = async (name: string, data: JsonObject) => {
  const protocol = protocolOf(name);
  const calls: VendorCall[] = [];
  const send = {
    message: messageOf(data, protocol),
    tokens: ['a', 'b'],
    accessToken: 'access',
    keyNo: 0,
    isRepeat: false,
    now: NOW,
  };
  await protocol.send(send, (call) => {
    calls.push(call);
    return Promise.resolve({ status: 200, body: { result: 0, taskId: 't' } });
  });
  const [first] = calls;
  if (first === undefined) throw new Error('nothing was sent');
  return { ...first, form: Object.fromEntries(new URLSearchParams(first.form)) };
};

const DATA = { alert: 'Lunch is ready', title: 'Canteen', order: { id: 7 } };
const INTENT =
  'intent://cn.leancloud.push/notify_detail?S.content=%7B%22order%22%3A%7B%22id%22%3A7%7D%7D#Intent;scheme=lcpushscheme;launchFlags=0x10000000;end';

describe('a message for an Android vendor', () => {
  it('has the form of Huawei', async () => {
    const data = { ...DATA, hms: { android: { category: 'WORK' }, target_user_type: 1 } };
    const { url, headers, json } = await requested('huawei', data);
    expect([url, headers]).toEqual(['https://push/v1/1/messages:send', { authorization: 'Bearer access' }]);
    const own = { title: 'Canteen', body: 'Lunch is ready' };
    expect(json).toEqual({
      validate_only: false,
      message: {
        notification: own,
        android: {
          ttl: '3600s',
          category: 'WORK',
          target_user_type: 1,
          notification: { tag: ID, click_action: { type: 1, intent: INTENT } },
        },
        token: ['a', 'b'],
      },
    });
  });

  it.each<[JsonObject, JsonObject]>([
    [
      { data: 'own', android: { ttl: '5s' } },
      { data: 'own', android: { ttl: '5s' } },
    ],
    [
      { notification: { title: 'T', body: 'B' } },
      { notification: { title: 'T', body: 'B' }, android: { ttl: '3600s', notification: { tag: ID } } },
    ],
    [
      { android: { notification: { title: 'T', body: 'B', tag: 'own' } } },
      { android: { ttl: '3600s', notification: { title: 'T', body: 'B', tag: 'own' } } },
    ],
  ])('in the native form %j of Huawei stays what it is', async (message, expected) => {
    const { json } = await requested('huawei', { ...DATA, hms: { message } });
    expect(json?.['message']).toEqual({ ...expected, token: ['a', 'b'] });
  });

  it.each(['huawei', 'honor'])("has the notification of the vendor's block for %s", async (name) => {
    const block = { notification: { title: 'HT', body: 'HB' } };
    const { json } = await requested(name, { ...DATA, [name === 'huawei' ? 'hms' : name]: block });
    const { android = {}, ...message } = (name === 'huawei' ? json?.['message'] : json) as JsonObject;
    expect(message['notification']).toEqual({ title: 'HT', body: 'HB' });
    expect(JSON.stringify(android)).not.toMatch(/"title"|"body"/);
  });

  it('has the form of Honor', async () => {
    const { headers, json } = await requested('honor', DATA);
    expect(headers).toEqual({ authorization: 'Bearer access', timestamp: String(NOW.getTime()) });
    const own = { title: 'Canteen', body: 'Lunch is ready' };
    expect(json).toEqual({
      notification: own,
      android: {
        ttl: '3600s',
        notification: { importance: 'NORMAL', tag: ID, clickAction: { type: 1, intent: INTENT } },
      },
      token: ['a', 'b'],
    });
  });

  it('has the form of Xiaomi', async () => {
    const { url, form } = await requested('xiaomi', {
      ...DATA,
      mi: { notify_type: 1, extra: { channel_id: 'orders' } },
    });
    expect(url).toBe('https://api.xmpush.xiaomi.com/v3/message/regid');
    expect(form).toMatchObject({
      registration_id: 'a,b',
      restricted_package_name: 'com.example.app',
      pass_through: '0',
      title: 'Canteen',
      description: 'Lunch is ready',
      notify_type: '1',
      time_to_live: '3600000',
      'extra.channel_id': 'orders',
    });
    expect(form['extra.jobkey']).toHaveLength(20);
    expect(await requested('xiaomi', { ...DATA, silent: true })).toMatchObject({ form: { pass_through: '1' } });
  });

  it('has the form of OPPO, vivo and Meizu', async () => {
    const oppo = JSON.parse((await requested('oppo', DATA)).form['messages'] ?? '') as {
      target_value: string;
      notification: JsonObject;
    }[];
    expect(oppo.map((one) => one.target_value)).toEqual(['a', 'b']);
    expect(oppo[0]?.notification).toMatchObject({
      app_message_id: ID,
      title: 'Canteen',
      style: 1,
      off_line_ttl: 3_600,
    });
    expect((await requested('vivo', DATA)).json).toMatchObject({
      title: 'Canteen',
      timeToLive: 3_600,
      classification: 0,
    });
    const meizu = objectIn((await requested('meizu', DATA)).form['messageJson'] ?? '');
    expect(meizu).toMatchObject({ noticeBarInfo: { title: 'Canteen' }, pushTimeInfo: { offLine: 1, validTime: 1 } });
  });

  it("has the text of the vendor's own members, cut to the limit of the style", async () => {
    const { form } = await requested('xiaomi', { ...DATA, mi: { title: 'MT', description: 'M'.repeat(200) } });
    expect([form['title'], form['description']]).toEqual(['MT', `${'M'.repeat(126)}…`]);
    const oppo = async (block: JsonObject) => {
      const { form: sent } = await requested('oppo', { ...DATA, oppo: block });
      return (JSON.parse(sent['messages'] ?? '') as { notification: JsonObject }[])[0]?.notification;
    };
    expect(await oppo({ content: 'C'.repeat(60) })).toMatchObject({ style: 2, content: 'C'.repeat(60) });
    expect(await oppo({ content: 'C'.repeat(200) })).toMatchObject({ style: 2, content: `${'C'.repeat(127)}…` });
    expect(await oppo({ content: 'C'.repeat(60), style: 1 })).toMatchObject({ content: `${'C'.repeat(49)}…` });
    const vivo = await requested('vivo', { ...DATA, vivo: { content: 'C'.repeat(101) } });
    expect(vivo.json).toMatchObject({ title: 'Canteen', content: `${'C'.repeat(98)}…` });
    const chinese = await requested('vivo', { alert: '午'.repeat(51), title: '餐'.repeat(21) });
    expect(chinese.json).toMatchObject({ title: `${'餐'.repeat(19)}…`, content: `${'午'.repeat(49)}…` });
    const meizu = await requested('meizu', {
      ...DATA,
      mz: { noticeBarInfo: { content: 'C'.repeat(101), noticeBarType: 1 } },
    });
    expect(objectIn(meizu.form['messageJson'] ?? '')['noticeBarInfo']).toEqual({
      title: 'Canteen',
      content: `${'C'.repeat(99)}…`,
      noticeBarType: 1,
    });
  });

  it.each(['oppo', 'vivo', 'meizu'])('cannot be silent or without text on %s', (name) => {
    const protocol = protocolOf(name);
    expect(protocol.refuses?.(messageOf({ ...DATA, silent: true }, protocol))).toMatch(/silent/);
    expect(protocol.refuses?.(messageOf({ title: 'Canteen', order: 7 }, protocol))).toMatch(/without text/);
    expect(protocol.refuses?.(messageOf(DATA, protocol))).toBeUndefined();
  });

  it.each<JsonObject>([{ order: 7 }, { title: 'Canteen', order: 7 }, { alert: ' ', order: 7 }])(
    '%j without text is a data message of Huawei, Honor and Xiaomi',
    async (data) => {
      const payload = JSON.stringify(data);
      const [huawei, honor, xiaomi] = await Promise.all(
        ['huawei', 'honor', 'xiaomi'].map((name) => requested(name, data)),
      );
      const message = { data: payload, android: { ttl: '3600s' }, token: ['a', 'b'] };
      expect(huawei?.json?.['message']).toEqual(message);
      expect(honor?.json).toEqual(message);
      expect(xiaomi?.form).toMatchObject({ pass_through: '1', payload });
      expect(xiaomi?.form).not.toHaveProperty('title');
    },
  );

  it('gets a title, and the texts of its block', () => {
    const protocol = protocolOf('oppo');
    expect(messageOf({ alert: 'a' }, protocol)).toMatchObject({ title: 'Shop', text: 'a' });
    expect(messageOf({ alert: 'a', oppo: { title: 'T', alert: 'A' } }, protocol)).toMatchObject({
      title: 'T',
      text: 'A',
    });
  });
});

describe('an answer of an Android vendor', () => {
  it.each(Object.keys(PROTOCOLS))(
    'of %s in any form gives one outcome for each token, with a short reason',
    async (name) => {
      const protocol = protocolOf(name);
      const send = {
        message: messageOf(DATA, protocol),
        tokens: ['a', 'b', 'c'],
        accessToken: 'x',
        keyNo: 0,
        isRepeat: false,
        now: NOW,
      };
      const members = fc.dictionary(
        fc.constantFrom('code', 'result', 'msg', 'data', 'value', 'invalidUsers', 'taskId'),
        fc.jsonValue(),
      );
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 200, max: 599 }), members, async (status, body) => {
          const outcomes = await protocol.send(send, () => Promise.resolve({ status, body: body as JsonObject }));
          if (outcomes === 'signIn') return;
          expect(outcomes).toHaveLength(3);
          for (const outcome of outcomes)
            expect('reason' in outcome ? outcome.reason.length : 0).toBeLessThanOrEqual(40);
        }),
      );
    },
  );
});

describe('a refusal of the credentials', () => {
  const outcomesOf = async (name: string, text: string, status = 200) => {
    const outbound = { send: () => Promise.resolve({ status, text }) } as unknown as OutboundClient;
    const channel = new AndroidChannel({ protocol: protocolOf(name), outbound, clock: new Clock(), title: 'Shop' });
    const target = { objectId: 'i', token: 'a', platform: 'android', topic: null, badge: null };
    return { outcomes: await channel.send(PUSH, [target]), problem: await channel.check() };
  };

  const ofXiaomi = ['21301', '22000', '22001', '22002', '22006', '22007', '22008', '22022'];

  it.each<readonly [string, string, number, string]>([
    ...ofXiaomi.map((code) => ['xiaomi', `{"code":${code}}`, 200, `code ${code}`] as const),
    ['huawei', '{"error":1101,"sub_error":20044}', 400, 'sign-in refused: 1101'],
    ['honor', '{"error":"unauthorized_client"}', 401, 'sign-in refused: unauthorized_client'],
    ['oppo', '{"code":14,"message":"Invalid sign"}', 200, 'sign-in refused: 14'],
    ['vivo', '{"result":10050,"desc":"sign"}', 200, 'sign-in refused: 10050'],
    ['vivo', '<html>', 404, 'sign-in refused: status 404'],
    ['meizu', '{"code":"1006"}', 200, 'code 1006'],
  ])('of %s, %s, keeps the devices, and its reason is shown', async (name, text, status, reason) => {
    const { outcomes, problem } = await outcomesOf(name, text, status);
    expect(outcomes).toEqual([{ kind: 'credentials', reason }]);
    expect(problem).toMatchObject({ isRefusal: true, text: expect.stringContaining(`(${reason})`) as unknown });
  });

  it.each(Object.keys(PROTOCOLS))('is not reported where a proxy answers with HTML for %s', async (name) => {
    const { outcomes, problem } = await outcomesOf(name, '<html>Maintenance</html>');
    expect(outcomes).toEqual([{ kind: 'unsure', reason: 'no answer', scope: 'lane' }]);
    expect(problem).toEqual({ isRefusal: false, text: 'No answer from the vendor: status 200 without JSON.' });
  });
});

describe('a text that is too long', () => {
  it('is cut between characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, limit) => {
        const short = cut(text, limit);
        expect(short.length).toBeLessThanOrEqual(limit);
        expect(short.isWellFormed()).toBe(true);
        if (text.length <= limit) expect(short).toBe(text);
      }),
    );
  });
});

describe('the request id of vivo', () => {
  const protocol = protocolOf('vivo');
  const sendOnce = async (answer: JsonObject, own: { keyNo?: number; isRepeat?: boolean; tokens?: string[] } = {}) => {
    const calls: VendorCall[] = [];
    const message = messageOf({ alert: 'hello' }, protocol);
    const send = { message, tokens: ['a', 'b'], accessToken: 'access', keyNo: 0, isRepeat: false, now: NOW, ...own };
    const outcomes = await protocol.send(send, (call) => {
      calls.push(call);
      const isStored = call.url.endsWith('saveListPayload');
      return Promise.resolve({ status: 200, body: isStored ? { result: 0, taskId: 't' } : answer });
    });
    return { outcomes, ids: calls.map(({ json }) => json?.['requestId']) };
  };
  const SEEN = { result: 10_056, desc: 'repeated requestId' };

  it('stays after a crash or a lost answer, changes after an answer, and is never that of a stored message', async () => {
    const [first, repeat, answered] = await Promise.all([
      sendOnce({ result: 0 }),
      sendOnce({ result: 0 }, { isRepeat: true }),
      sendOnce({ result: 0 }, { keyNo: 1 }),
    ]);
    expect(repeat.ids[1]).toBe(first.ids[1]);
    expect(answered.ids[1]).not.toBe(first.ids[1]);
    expect(new Set([...first.ids, ...repeat.ids, ...answered.ids]).size).toBe(5);
  });

  it('that vivo has seen means that the devices have the message, where it may be repeated', async () => {
    expect((await sendOnce(SEEN, { isRepeat: true })).outcomes).toEqual([{ kind: 'accepted' }, { kind: 'accepted' }]);
    expect((await sendOnce(SEEN, { isRepeat: true, tokens: ['a'] })).outcomes).toEqual([{ kind: 'accepted' }]);
    expect((await sendOnce(SEEN)).outcomes).toMatchObject([{ kind: 'rejected' }, { kind: 'rejected' }]);
    const refused = await sendOnce({ result: 10_072, desc: 'requestId: too fast' }, { isRepeat: true });
    expect(refused.outcomes).toMatchObject([{ kind: 'later' }, { kind: 'later' }]);
  });
});

describe('the list of invalid tokens of Xiaomi', () => {
  const listOf = async (body: JsonObject, region: string) => {
    const protocol = xiaomiProtocol({ packageName: 'p', appSecret: 's', region }, { push: '', feedback: '' });
    let asked: VendorCall | undefined;
    const tokens = await protocol.invalidTokens?.((call) => {
      asked = call;
      return Promise.resolve({ status: 200, body });
    });
    return { tokens, asked };
  };

  it('is asked for at the host of the region, and has an end', async () => {
    const { tokens, asked } = await listOf({ code: 0, data: { list: ['a', 'b'] } }, 'cn');
    expect(tokens).toEqual(['a', 'b']);
    expect(asked).toEqual({
      url: 'https://feedback.xmpush.xiaomi.com/v1/feedback/fetch_invalid_regids',
      method: 'GET',
      headers: { authorization: 'key=s' },
    });
    expect((await listOf({ code: 10_035 }, 'eu')).tokens).toEqual([]);
    await expect(listOf({ code: 10_030 }, 'eu')).rejects.toThrow('Xiaomi answers code 10030');
  });
});

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    ['Tue, 01 Dec 2026 00:01:00 GMT', 60_000],
    ['0', undefined],
    ['soon', undefined],
    ['Tue, 01 Dec 2020 00:00:00 GMT', undefined],
    [undefined, undefined],
  ])('%j asks for %j ms', (header, ms) => {
    expect(retryAfterMs(header, NOW)).toBe(ms);
  });

  it.each(Object.keys(PROTOCOLS))('rests the lane of %s', async (name) => {
    const protocol = protocolOf(name);
    const message = messageOf({ alert: 'hello' }, protocol);
    const send = { message, tokens: ['a', 'b'], accessToken: 'access', keyNo: 0, isRepeat: false, now: NOW };
    const outcomes = await protocol.send(send, () => Promise.resolve({ status: 503, body: {}, backOffMs: 7_000 }));
    expect(outcomes).toEqual(
      ['a', 'b'].map(() => ({ kind: 'later', reason: 'status 503', scope: 'lane', backOffMs: 7_000 })),
    );
  });

  it.each([429, 503])('of a sign-in with status %i rests the lane', async (status) => {
    const outbound = {
      send: () => Promise.resolve({ status, text: '', retryAfter: '600' }),
    } as unknown as OutboundClient;
    const channel = new AndroidChannel({ protocol: protocolOf('vivo'), outbound, clock: new Clock(), title: 'Shop' });
    const target = { objectId: 'i', token: 'a', platform: 'android', topic: null, badge: null };
    expect(await channel.send(PUSH, [target])).toEqual([
      { kind: 'unsure', reason: 'no access token', scope: 'lane', backOffMs: 600_000 },
    ]);
  });
});
