import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleApi, type ConsoleRoute } from '#console-api';
import { newDatabase, OidcIssuer, unique } from '#testing';
import { type ConsoleAnswer, PASSWORD, TestConsole, type Visitor } from './console-service.js';
import { begin, console, entriesOf, finish, isSignedIn, issuer, nameOf, useOidcConsole } from './oidc-console.js';

useOidcConsole();

describe('where groups give roles', () => {
  const ROLES = 'admins:owner, shop-support:support@shop, shop-dev:developer@shop, all-viewers:viewer';
  let grouped: TestConsole;

  beforeAll(async () => {
    grouped = await TestConsole.start({
      ...issuer.env,
      GATEPOST_CONSOLE_OIDC_ROLES: ROLES,
      GATEPOST_CONSOLE_PASSWORDS: 'off',
      GATEPOST_CONSOLE_SECOND_FACTOR: 'required',
    });
    await issuer.serve(console.origin, grouped.origin);
  });
  afterAll(() => grouped.stop());

  async function member(
    groups: readonly string[],
    subject = unique('sub'),
  ): Promise<Visitor & { answer: ConsoleAnswer }> {
    issuer.people.set(subject, { email: `${subject}@example.com`, email_verified: true, name: 'Cy', groups });
    const visitor = grouped.visitor();
    const answer = await finish(visitor, await issuer.browser(subject).visit(await begin(visitor)));
    return Object.assign(visitor, { answer });
  }

  const operatorOf = ({ answer }: { answer: ConsoleAnswer }) =>
    (answer.body['session'] as { operator: { id: string; isOwner: boolean; grants: unknown[] } }).operator;

  it('a first sign-in creates the operator, also the first owner, and needs no second factor of the console', async () => {
    const ada = await member(['admins', 'other'], 'ada');
    expect(operatorOf(ada)).toMatchObject({ isOwner: true, grants: [], hasPassword: false });
    expect((await ada.call(consoleApi.listOperators)).status).toBe(200);
    const id = operatorOf(ada).id;
    expect((await entriesOf(id, grouped)).map(({ action }) => action)).toEqual(['finishOidc', 'createByGroups']);
  });

  it('each sign-in sets them anew, the strongest of an application', async () => {
    const first = await member(['shop-support', 'shop-dev', 'all-viewers'], 'di');
    expect(operatorOf(first).grants).toEqual([
      { appId: '*', role: 'viewer' },
      { appId: 'shop', role: 'developer' },
    ]);
    const second = await member(['shop-support'], 'di');
    expect(operatorOf(second)).toMatchObject({
      id: operatorOf(first).id,
      grants: [{ appId: 'shop', role: 'support' }],
    });
    const entries = await entriesOf(operatorOf(first).id, grouped);
    expect(entries.at(-1)).toMatchObject({ action: 'setRightsByGroups', change: { grants: [{ role: 'support' }] } });
  });

  it('an account without such a group is refused, and its sessions end', async () => {
    expect(nameOf((await member(['other'])).answer)).toEqual([403, 'OIDC_NO_ROLE']);
    const before = await member(['shop-dev'], 'eve');
    expect(nameOf((await member([], 'eve')).answer)).toEqual([403, 'OIDC_NO_ROLE']);
    expect(await isSignedIn(before)).toBe(false);
    const [row] = await grouped.database.query(
      `SELECT count(g.*)::int AS grants FROM console.operators o LEFT JOIN console.grants g ON g.operator_id = o.id
        WHERE o.oidc_subject = 'eve'`,
    );
    expect(row).toEqual({ grants: 0 });
  });

  it('the last active owner stays one, and the audit log says so', async () => {
    const ada = await member(['all-viewers'], 'ada');
    expect(operatorOf(ada)).toMatchObject({ isOwner: true, grants: [{ appId: '*', role: 'viewer' }] });
    const entries = await entriesOf(operatorOf(ada).id, grouped);
    expect(entries.at(-1)).toMatchObject({
      action: 'setRightsByGroups',
      change: { isOwner: true, lastOwnerStays: true },
    });
  });

  it('of two owners who lose their group at once one stays', async () => {
    const owners = () => grouped.database.query('SELECT 1 FROM console.operators WHERE is_owner');
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([member(['admins'], 'ada'), member(['admins'], 'flo')]);
      expect(await owners()).toHaveLength(2);
      await Promise.all([member(['all-viewers'], 'ada'), member(['all-viewers'], 'flo')]);
      expect(await owners()).toHaveLength(1);
    }
    await member(['admins'], 'ada');
  });

  it('an address of another operator is refused, and an invited operator keeps the given roles', async () => {
    issuer.people.set('thief', { email: 'ada@example.com', email_verified: true, groups: ['admins'] });
    const visitor = grouped.visitor();
    const answer = await finish(visitor, await issuer.browser('thief').visit(await begin(visitor)));
    expect(nameOf(answer)).toEqual([403, 'OIDC_NOT_CONNECTED']);
    const ada = await member(['admins'], 'ada');
    await grouped.database.query('UPDATE console.sessions SET proven_at = now()');
    const body = { name: 'Gus', address: 'gus@example.com', grants: [{ appId: 'shop', role: 'viewer' }] };
    await ada.call(consoleApi.inviteOperator, { body });
    const gus = await member(['admins'], 'gus');
    expect(operatorOf(gus)).toMatchObject({ isOwner: false, grants: [{ appId: 'shop', role: 'viewer' }] });
  });

  it('and passwords are off, every way by a password is refused', async () => {
    const ada = await member(['admins'], 'ada');
    const token = 'x'.repeat(43);
    const code = { password: PASSWORD };
    const calls: [ConsoleRoute, object][] = [
      [consoleApi.signIn, { address: 'ada@example.com', ...code }],
      [consoleApi.passkeySignIn, { response: {} }],
      [consoleApi.setUp, { token, name: 'x', address: 'x@example.com', ...code }],
      [consoleApi.useLink, { token, ...code }],
      [consoleApi.prove, code],
      [consoleApi.passkeyProof, { response: {} }],
      [consoleApi.changeMyPassword, { oldPassword: PASSWORD, newPassword: PASSWORD }],
    ];
    for (const [route, body] of calls) expect(nameOf(await ada.call(route, { body }))).toEqual([403, 'PASSWORDS_OFF']);
    expect((await ada.call(consoleApi.getSession)).body).toMatchObject({ hasPasswords: false });
    await expect(grouped.rpc.createSetUpLink({ by: 'test' })).resolves.toEqual({ link: null });
    await expect(grouped.rpc.recoverOperator({ address: 'ada@example.com', by: 'test' })).rejects.toMatchObject({
      errorName: 'PASSWORDS_OFF',
    });
  });
});

describe('the issuer', () => {
  it('is asked again after it was away at the first sign-in', async () => {
    const late = await OidcIssuer.start();
    late.fault = 'away';
    const running = await TestConsole.start(late.env);
    await late.serve(running.origin);
    const visitor = running.visitor();
    const answer = await visitor.call(consoleApi.startOidc);
    expect([...nameOf(answer), answer.headers['retry-after']]).toEqual([503, 'OIDC_ISSUER_AWAY', '5']);
    late.fault = undefined;
    expect((await visitor.call(consoleApi.startOidc)).status).toBe(200);
    await running.stop();
    await late.stop();
  });

  it('leads back to each of several replicas', async () => {
    const env = { ...issuer.env, DATABASE_URL: await newDatabase(), GATEPOST_SECRET: 'f'.repeat(64) };
    const one = await TestConsole.start({ ...env, GATEPOST_CONSOLE_URL: console.origin });
    const other = await TestConsole.start({ ...env, GATEPOST_CONSOLE_URL: console.origin });
    const first = await one.owner();
    const body = { name: 'Hal', address: 'hal@example.com', grants: [] };
    await first.call(consoleApi.inviteOperator, { body });
    issuer.people.set('hal', { email: 'hal@example.com', email_verified: true });
    const [begun, ended] = [one.visitor(), other.visitor()];
    const response = await issuer.browser('hal').visit(await begin(begun));
    for (const [name, pair] of begun.oidcCookies) ended.oidcCookies.set(name, pair);
    expect((await finish(ended, response)).status).toBe(200);
    await Promise.all([one.stop(), other.stop()]);
  });

  it('is not there where none is configured', async () => {
    const plain = await TestConsole.start();
    expect(nameOf(await plain.visitor().call(consoleApi.startOidc))).toEqual([404, 'NOT_FOUND']);
    expect((await plain.visitor().call(consoleApi.getSession)).body).toMatchObject({
      issuer: null,
      hasPasswords: true,
    });
    await plain.stop();
  });
});
