import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import http2, { type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import { PUSH as push } from '../../../test/vendor-push.js';
import type { Outcome } from '../vendor-channel.rules.js';
import { FcmChannel } from './fcm.channel.js';

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const accepted: Outcome = { kind: 'accepted' };
const deviceRests: Outcome = { kind: 'later', reason: 'QUOTA_EXCEEDED', scope: 'device', backOffMs: 60_000 };

let server: Http2Server;
let channel: FcmChannel;
/** The value of `Retry-After` in refusals. */
let retryAfter: string | undefined;
let signInStatus: number;
let signIn: object | string;
/** In place of Google's answer. */
let page: { status: number; text: string } | undefined;

/** Tokens that begin with `hot` are over a quota. */
beforeEach(async () => {
  [retryAfter, signInStatus, page] = [undefined, 200, undefined];
  signIn = { access_token: 'token', expires_in: 3_600 };
  server = http2.createServer();
  server.on('stream', (stream) => {
    void text(stream).then((body) => {
      const { message } = JSON.parse(body) as { message: { token: string } };
      const isRefused = message.token.startsWith('hot');
      stream.respond({
        ':status': page?.status ?? (isRefused ? 429 : 200),
        ...(isRefused && retryAfter !== undefined ? { 'retry-after': retryAfter } : {}),
      });
      const error = { status: 'RESOURCE_EXHAUSTED', details: [{ errorCode: 'QUOTA_EXCEEDED' }] };
      stream.end(page?.text ?? JSON.stringify(isRefused ? { error } : { name: 'projects/project/messages/1' }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  channel = new FcmChannel({
    account: { project_id: 'project', client_email: 'sender@example.org', private_key: privateKey },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokenUrl: 'https://localhost/token',
    connections: 1,
    outbound: {
      send: () =>
        Promise.resolve({
          status: signInStatus,
          text: typeof signIn === 'string' ? signIn : JSON.stringify(signIn),
          retryAfter,
        }),
    },
    clock: new Clock(),
  });
});
afterEach(() => {
  channel.close();
  server.close();
});

const sendTo = async (...tokens: string[]) => {
  const outcomes: (Outcome | undefined)[] = [];
  for (const token of tokens) {
    const target = { objectId: 'i', token, platform: 'android', topic: null, badge: null };
    outcomes.push((await channel.send(push, [target]))[0]);
  }
  return outcomes;
};

it('a 429 of FCM concerns its device, while others are accepted or it alone is refused', async () => {
  expect(await sendTo('hot1', 'hot1', 'hot1', 'hot1')).toEqual([deviceRests, deviceRests, deviceRests, deviceRests]);
  expect(await sendTo('hot2', 'calm', 'hot3', 'hot4', 'calm')).toEqual([
    deviceRests,
    accepted,
    deviceRests,
    deviceRests,
    accepted,
  ]);
});

it('the third device in a row with a 429 of FCM shows that the project rests', async () => {
  expect(await sendTo('hot1', 'hot2', 'hot1', 'hot3')).toEqual([
    deviceRests,
    deviceRests,
    deviceRests,
    { ...deviceRests, scope: 'lane' },
  ]);
});

it('a 429 of FCM with a time concerns the project', async () => {
  retryAfter = '30';
  expect(await sendTo('hot1')).toEqual([{ kind: 'later', reason: 'QUOTA_EXCEEDED', scope: 'lane', backOffMs: 30_000 }]);
});

it.each([429, 503])('a sign-in at Google that answers %i with a time rests the lane', async (status) => {
  [retryAfter, signInStatus] = ['600', status];
  expect(await sendTo('calm')).toEqual([
    { kind: 'later', reason: 'no access token', scope: 'lane', backOffMs: 600_000 },
  ]);
});

it('a refused sign-in at Google has its reason', async () => {
  [signInStatus, signIn] = [400, { error: 'invalid_grant', error_description: 'Invalid JWT' }];
  expect(await channel.check()).toMatchObject({
    isRefusal: true,
    text: expect.stringContaining('(invalid_grant)') as unknown,
  });
});

it.each([
  [200, '<html>Log in</html>'],
  [200, '{}'],
  [302, ''],
  [403, '<html>Blocked</html>'],
  [404, '{"detail":"Not Found"}'],
])('a proxy that answers %i %j in place of Google has not accepted the message', async (status, text) => {
  page = { status, text };
  const reason = `status ${status} of another server`;
  expect(await sendTo('calm')).toEqual([{ kind: 'unsure', reason: `no answer (${reason})`, scope: 'lane' }]);
  expect(await channel.check()).toEqual({ isRefusal: false, text: `No answer from Google: ${reason}.` });
});

it('a proxy that answers in place of the sign-in at Google has not refused it', async () => {
  signIn = '<html>Log in</html>';
  expect(await sendTo('calm')).toEqual([{ kind: 'later', reason: 'no access token', scope: 'lane' }]);
  expect(await channel.check()).toMatchObject({ isRefusal: false });
});

it('requests without a stream wait where the credentials change, as Google has not failed', async () => {
  const waiting = Promise.all(Array.from({ length: 3 }, () => sendTo('calm')));
  channel.close();
  expect(await waiting).toEqual(Array(3).fill([{ kind: 'waiting', reason: 'the credentials have changed' }]));
});
