import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { accountsRpc, authLinkingRpc, objectsRpc } from '#contracts';
import type { FakeTransport } from '#testing';
import { APPLICATION, fakeServices, GATEWAY_CONFIG, startGateway } from './start-gateway.js';

const ID = 'a'.repeat(24);
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey, 'content-type': 'application/json' };
const user = { objectId: ID, updatedAt: '2026-01-01T00:00:00.000Z' };

/** Fields of a user, and whether they contain accounts on other platforms. */
const FIELDS: [Record<string, unknown>, boolean][] = [
  [{ authData: { github: { uid: '1' } } }, true],
  [{ authData: { github: null } }, true],
  [{ 'authData.github': { __op: 'Delete' } }, true],
  [{ 'authData.': null }, true],
  [{ authData: 'text' }, true],
  [{ authData: [] }, true],
  [{ authData: { __op: 'Delete' } }, true],
  [{ authData: {} }, false],
  [{ authData: null }, false],
  [{ authDataOfMine: { uid: '1' } }, false],
  [{ profile: { authData: { github: { uid: '1' } } } }, false],
];

describe('authData at the gateway', () => {
  let services: FakeTransport;
  let gateway: RunningService;
  const send = (method: string, path: string, body: unknown) =>
    fetch(`http://127.0.0.1:${gateway.port}/1.1/${path}`, { method, headers: SIGNED, body: JSON.stringify(body) });

  beforeEach(async () => {
    services = fakeServices();
    for (const { updateUser } of [authLinkingRpc, accountsRpc]) services.answer(updateUser, () => ({ result: {} }));
    for (const signUp of [authLinkingRpc.signUpOrLogIn, accountsRpc.signUp])
      services.answer(signUp, () => ({ user, isNew: true }));
    for (const { saveAll } of [authLinkingRpc, objectsRpc])
      services.answer(saveAll, () => ({ results: [{ internalId: ID, result: {} }] }));
    gateway = await startGateway(services);
  });
  afterEach(() => gateway.stop());

  it.each(FIELDS)('%j is sent to auth-linking: %s', async (fields, isProofNeeded) => {
    const write = { method: 'PUT', path: `/1.1/users/${ID}`, body: { ...fields, __internalId: ID } };
    const replies = [
      await send('POST', 'users', fields),
      await send('PUT', `users/${ID}`, fields),
      await send('POST', 'batch/save', { requests: [write] }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([201, 200, 200]);
    const expected = isProofNeeded
      ? ['auth-linking.signUpOrLogIn', 'auth-linking.updateUser', 'auth-linking.saveAll']
      : ['accounts.signUp', 'accounts.updateUser', 'accounts.saveAll'];
    expect(services.calledPatterns).toEqual(expected);
  });

  it.each([
    [true, 201],
    [false, 200],
  ])('a user by an account, new: %s, gets %i and its location', async (isNew, status) => {
    services.answer(authLinkingRpc.signUpOrLogIn, () => ({ user, isNew }));
    const response = await send('POST', 'users', { authData: { github: { uid: '1' } } });
    expect([response.status, await response.json()]).toEqual([status, user]);
    expect(response.headers.get('location')).toBe(`${GATEWAY_CONFIG.baseUrl}/1.1/users/${ID}`);
  });

  it.each([
    ['?failOnNotExist=true', true],
    ['?failOnNotExist=1', true],
    ['?failOnNotExist=false', false],
    ['', false],
  ])('users%s asks for an error if no user has the account: %s', async (query, failOnNotExist) => {
    await send('POST', `users${query}`, { authData: { github: { uid: '1' } } });
    expect(services.requestsOf(authLinkingRpc.signUpOrLogIn)).toMatchObject([{ failOnNotExist }]);
  });
});
