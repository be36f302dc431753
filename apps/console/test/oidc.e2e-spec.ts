import { describe, expect, it } from 'vitest';
import { consoleApi } from '#console-api';
import { unique } from '#testing';
import { PASSWORD } from './console-service.js';
import {
  begin,
  bindingOf,
  connected,
  console,
  entriesOf,
  finish,
  invited,
  isSignedIn,
  issuer,
  nameOf,
  owner,
  recoveryToken,
  travel,
  useOidcConsole,
  withPassword,
} from './oidc-console.js';

useOidcConsole();

describe('a sign-in by the issuer', () => {
  it('goes there with PKCE, a state and a nonce, and comes back by a cookie of its own', async () => {
    const visitor = console.visitor();
    const { body, headers } = await visitor.call(consoleApi.startOidc, { body: { to: '/apps' } });
    const url = new URL(String(body['url']));
    expect(url.origin).toBe(issuer.url);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${console.origin}/api/oidc/callback`,
      scope: 'openid email profile',
    });
    expect(url.searchParams.get('state')).toMatch(/^[\w-]{43}$/);
    expect(url.searchParams.get('nonce')).toMatch(/^[\w-]{43}$/);
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^gatepost-oidc-[0-9a-f]{16}=s1\.\S+; Path=\/api\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/,
      ),
    ]);
    const { subject } = await invited();
    const finished = await finish(visitor, await issuer.browser(subject).visit(url.href));
    expect(finished.body).toMatchObject({ purpose: 'signIn', to: '/apps', session: { operator: { name: 'Bo' } } });
    expect(visitor.oidcCookies.size).toBe(0);
  });

  it('leads back to paths of the console only', async () => {
    for (const to of ['https://evil.example', '//evil.example', '/\\evil.example', 'apps'])
      expect(nameOf(await console.visitor().call(consoleApi.startOidc, { body: { to } }))).toEqual([
        400,
        'INCORRECT_TYPE',
      ]);
  });

  it('comes back to a page that does nothing by itself, whichever site has sent the browser', async () => {
    const headers = { host: `localhost:${console.service.port}`, 'sec-fetch-site': 'cross-site' };
    const before = await console.database.query('SELECT 1 FROM console.audit');
    const answer = await console.visitor().send('GET', '/api/oidc/callback?code=x&state=y', { headers });
    expect([answer.status === 200 || answer.status === 503, answer.headers['set-cookie']]).toEqual([true, undefined]);
    expect(answer.headers['content-security-policy']).toContain("form-action 'self'");
    expect(await console.database.query('SELECT 1 FROM console.audit')).toHaveLength(before.length);
    expect((await console.visitor().send('POST', '/api/oidc/callback', { headers })).status).toBe(403);
    const other = { ...headers, host: 'evil.example' };
    expect((await console.visitor().send('GET', '/api/oidc/callback', { headers: other })).status).toBe(403);
  });

  it('of two tabs at once are two, and of many the newest four go on', async () => {
    const { subject } = await connected();
    const visitor = console.visitor();
    const urls: string[] = [];
    for (let tab = 0; tab < 6; tab += 1) urls.push(await begin(visitor));
    expect(visitor.oidcCookies.size).toBe(4);
    const names = [];
    for (const url of urls.slice(1, 4))
      names.push(nameOf(await finish(visitor, await issuer.browser(subject).visit(url))));
    expect(names).toEqual([
      [400, 'OIDC_STATE_INVALID'],
      [200, undefined],
      [200, undefined],
    ]);
  });

  it('connects an invited operator once, and uses the invitation up', async () => {
    const { id, subject, token, visitor } = await connected();
    expect(await bindingOf(id)).toBe(subject);
    const used = await console.visitor().call(consoleApi.useLink, { body: { token, password: PASSWORD } });
    expect(nameOf(used)).toEqual([400, 'LINK_EXPIRED']);
    const { body } = await visitor.call(consoleApi.getSession);
    expect(body).toMatchObject({
      operator: { id, hasPassword: false, isConnected: true },
      issuer: new URL(issuer.url).host,
    });
    expect(await entriesOf(id)).toEqual([
      expect.objectContaining({ action: 'inviteOperator' }),
      { action: 'finishOidc', outcome: 'done', change: { response: '(changed)' } },
      { action: 'connectAccount', outcome: 'done', change: { issuer: issuer.url, subject, invitation: true } },
    ]);
    issuer.people.set(subject, { email: 'another@example.com', email_verified: false });
    expect((await travel(console.visitor(), subject)).status).toBe(200);
  });

  it.each([
    ['of an address that the issuer has not verified', { email_verified: false }, 'OIDC_ADDRESS_UNVERIFIED'],
    ['of an account without an address', { email: undefined }, 'OIDC_ADDRESS_UNVERIFIED'],
    ['of an address without an invitation', { email: 'unknown@example.com' }, 'OIDC_NOT_INVITED'],
  ])('%s is refused', async (_, claims, name) => {
    const { id, subject } = await invited(claims);
    const visitor = console.visitor();
    expect(nameOf(await travel(visitor, subject))).toEqual([403, name]);
    expect([await bindingOf(id), await isSignedIn(visitor)]).toEqual([null, false]);
  });

  it('is refused after the invitation has ended', async () => {
    const { id, subject } = await invited();
    await console.database.query(
      `UPDATE console.links SET ends_at = now() - interval '1 second' WHERE operator_id = $1`,
      [id],
    );
    expect(nameOf(await travel(console.visitor(), subject))).toEqual([403, 'OIDC_NOT_INVITED']);
    expect(await bindingOf(id)).toBeNull();
  });

  it('never connects an operator with a password by the address', async () => {
    const one = await invited();
    await withPassword(one);
    await owner.call(consoleApi.createOperatorLink, { params: { operatorId: one.id }, body: {} });
    expect(nameOf(await travel(console.visitor(), one.subject))).toEqual([403, 'OIDC_NOT_CONNECTED']);
    expect(await bindingOf(one.id)).toBeNull();
  });

  it('is refused for a second account with the same address', async () => {
    const { id, subject, address } = await connected();
    issuer.people.set('another', { email: address, email_verified: true });
    expect(nameOf(await travel(console.visitor(), 'another'))).toEqual([403, 'OIDC_NOT_CONNECTED']);
    expect(await bindingOf(id)).toBe(subject);
  });

  it('is refused to a disabled operator, whose sessions end', async () => {
    const { id, subject, visitor } = await connected();
    await owner.call(consoleApi.changeOperator, { params: { operatorId: id }, body: { isDisabled: true } });
    expect(await isSignedIn(visitor)).toBe(false);
    expect(nameOf(await travel(console.visitor(), subject))).toEqual([403, 'OPERATOR_DISABLED']);
  });

  it('of one account twice at once signs both in, and connects once', async () => {
    const { id, subject } = await invited();
    const visitors = Array.from({ length: 5 }, () => console.visitor());
    const answers = await Promise.all(visitors.map((visitor) => travel(visitor, subject)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await entriesOf(id)).filter(({ action }) => action === 'connectAccount')).toHaveLength(1);
  });

  it('of two accounts with one address at once connects one of them', async () => {
    const { id, subject, address } = await invited();
    const other = unique('sub');
    issuer.people.set(other, { email: address, email_verified: true });
    const answers = await Promise.all([subject, other].map((each) => travel(console.visitor(), each)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403]);
    expect([subject, other]).toContain(await bindingOf(id));
  });

  it('and an invitation that is used at the same time leave one way to sign in', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id, subject, token } = await invited();
      const [visitor, response] = [console.visitor(), await invitedResponse(subject)];
      const [byIssuer, byLink] = await Promise.all([
        finish(response.visitor, response.text),
        visitor.call(consoleApi.useLink, { body: { token, password: PASSWORD } }),
      ]);
      expect([byIssuer.status, byLink.status].filter((status) => status === 200)).toHaveLength(1);
      expect(await bindingOf(id)).toBe(byIssuer.status === 200 ? subject : null);
    }
  });

  it('stays possible where passwords are locked by guessing', async () => {
    const { subject, address } = await connected();
    for (let attempt = 0; attempt < 130; attempt += 1)
      await console.visitor().call(consoleApi.signIn, { body: { address, password: 'wrong password' } });
    expect((await console.visitor().call(consoleApi.signIn, { body: { address, password: PASSWORD } })).status).toBe(
      429,
    );
    expect((await travel(console.visitor(), subject)).status).toBe(200);
  });

  it('proves the identity only where the issuer says when it has asked for it', async () => {
    const { visitor } = await connected();
    const { body } = await visitor.call(consoleApi.getSession);
    expect(body['provenUntil']).toBeNull();
  });

  async function invitedResponse(subject: string) {
    const visitor = console.visitor();
    return { visitor, text: await issuer.browser(subject).visit(await begin(visitor)) };
  }
});

describe('an operator with a password', () => {
  it('connects an account in the profile with a fresh proof, and signs in by it, also with a second factor', async () => {
    const one = await invited();
    const visitor = await withPassword(one);
    await console.database.query('UPDATE console.sessions SET proven_at = NULL');
    expect(nameOf(await visitor.call(consoleApi.connectOidc))).toEqual([403, 'PROOF_REQUIRED']);
    await visitor.call(consoleApi.prove, { body: { password: PASSWORD } });
    const answer = await travel(visitor, one.subject, consoleApi.connectOidc);
    expect(answer.body).toMatchObject({ purpose: 'connection', session: { operator: { isConnected: true } } });
    expect((await travel(console.visitor(), one.subject)).status).toBe(200);
    expect((await entriesOf(one.id)).map(({ action }) => action)).toContain('connectAccount');
  });

  it('connects no account of another operator, and no second one', async () => {
    const [one, other] = [await invited(), await connected()];
    const visitor = await withPassword(one);
    expect(nameOf(await travel(visitor, other.subject, consoleApi.connectOidc))).toEqual([400, 'IDENTITY_TAKEN']);
    expect((await travel(visitor, one.subject, consoleApi.connectOidc)).status).toBe(200);
    issuer.people.set('second', {});
    expect(nameOf(await travel(visitor, 'second', consoleApi.connectOidc))).toEqual([400, 'NO_EFFECT']);
    expect(await bindingOf(one.id)).toBe(one.subject);
  });

  it('connects an account in the session that has begun it only', async () => {
    const [one, other] = [await invited(), await invited()];
    const [visitor, victim] = [await withPassword(one), await withPassword(other)];
    const response = await issuer.browser(one.subject).visit(await begin(visitor, consoleApi.connectOidc));
    for (const [name, pair] of visitor.oidcCookies) victim.oidcCookies.set(name, pair);
    expect(nameOf(await finish(victim, response))).toEqual([400, 'OIDC_STATE_INVALID']);
    await visitor.call(consoleApi.signOut);
    expect(nameOf(await finish(visitor, response))).toEqual([400, 'OIDC_STATE_INVALID']);
    expect([await bindingOf(one.id), await bindingOf(other.id)]).toEqual([null, null]);
  });

  it('disconnects the account, which ends the sessions of the issuer and no other', async () => {
    const one = await invited();
    const visitor = await withPassword(one);
    await travel(visitor, one.subject, consoleApi.connectOidc);
    const byIssuer = console.visitor();
    await travel(byIssuer, one.subject);
    expect((await visitor.call(consoleApi.disconnectOidc)).status).toBe(200);
    expect([await isSignedIn(visitor), await isSignedIn(byIssuer)]).toEqual([true, false]);
    expect(nameOf(await visitor.call(consoleApi.disconnectOidc))).toEqual([400, 'NO_EFFECT']);
    expect(nameOf(await travel(console.visitor(), one.subject))).toEqual([403, 'OIDC_NOT_CONNECTED']);
  });

  it('keeps the account that is the only login method', async () => {
    const { id, subject, visitor } = await connected();
    await console.database.query('UPDATE console.sessions SET proven_at = now()');
    expect(nameOf(await visitor.call(consoleApi.disconnectOidc))).toEqual([400, 'NO_EFFECT']);
    expect(await bindingOf(id)).toBe(subject);
  });

  it('keeps a session of the issuer at a change of the password', async () => {
    const one = await invited();
    const visitor = await withPassword(one);
    await travel(visitor, one.subject, consoleApi.connectOidc);
    const byIssuer = console.visitor();
    await travel(byIssuer, one.subject);
    const change = { oldPassword: PASSWORD, newPassword: 'another long password' };
    expect((await byIssuer.call(consoleApi.changeMyPassword, { body: change })).status).toBe(200);
    expect([await isSignedIn(byIssuer), await isSignedIn(visitor)]).toEqual([true, false]);
  });
});

describe('a proof by the issuer', () => {
  it('counts where it has asked for the sign-in again', async () => {
    const { subject, visitor } = await connected();
    expect(nameOf(await visitor.call(consoleApi.prove, { body: { password: PASSWORD } }))[0]).toBe(400);
    const browser = issuer.browser(subject);
    const url = await begin(visitor, consoleApi.startOidcProof);
    expect(new URL(url).searchParams.get('prompt')).toBe('login');
    expect(new URL(url).searchParams.get('max_age')).toBe('0');
    const old = visitor.cookie;
    const answer = await finish(visitor, await browser.visit(url));
    expect(answer.body).toMatchObject({ purpose: 'proof' });
    expect((answer.body['session'] as { provenUntil: string }).provenUntil).not.toBeNull();
    expect(visitor.cookie).not.toBe(old);
  });

  it('is refused by another account, and without a new sign-in', async () => {
    const [{ subject, visitor }, other] = [await connected(), await connected()];
    expect(nameOf(await travel(visitor, other.subject, consoleApi.startOidcProof))).toEqual([
      403,
      'OIDC_PROOF_MISSING',
    ]);
    const browser = issuer.browser(subject);
    await browser.visit(await begin(visitor));
    const url = new URL(await begin(visitor, consoleApi.startOidcProof));
    // A person who changes the URL so that the issuer does not ask.
    for (const name of ['prompt', 'max_age']) url.searchParams.delete(name);
    expect(nameOf(await finish(visitor, await browser.visit(url.href)))).toEqual([403, 'OIDC_PROOF_MISSING']);
    expect((await visitor.call(consoleApi.getSession)).body['provenUntil']).toBeNull();
  });
});

describe('a recovery link', () => {
  it('disconnects the account and ends the sessions', async () => {
    const { id, subject, address, visitor } = await connected();
    const next = console.visitor();
    const use = { token: await recoveryToken(address), password: PASSWORD };
    expect((await next.call(consoleApi.useLink, { body: use })).status).toBe(200);
    expect([await bindingOf(id), await isSignedIn(visitor), await isSignedIn(next)]).toEqual([null, false, true]);
    expect(nameOf(await travel(console.visitor(), subject))).toEqual([403, 'OIDC_NOT_CONNECTED']);
  });

  it('wins over a sign-in and a connection of an old session at the same time', async () => {
    for (let round = 0; round < 15; round += 1) {
      const one = await invited();
      const old = await withPassword(one);
      const connection = await issuer.browser(one.subject).visit(await begin(old, consoleApi.connectOidc));
      if (round % 2 === 0) await finish(old, connection);
      const byIssuer = console.visitor();
      const response = await issuer.browser(one.subject).visit(await begin(byIssuer));
      const use = { token: await recoveryToken(one.address), password: PASSWORD };
      const next = console.visitor();
      const [used] = await Promise.all([
        next.call(consoleApi.useLink, { body: use }),
        finish(byIssuer, response),
        ...(round % 2 === 0 ? [] : [finish(old, connection)]),
      ]);
      expect(used.status).toBe(200);
      expect(await bindingOf(one.id)).toBeNull();
      expect([await isSignedIn(old), await isSignedIn(byIssuer), await isSignedIn(next)]).toEqual([false, false, true]);
    }
  });
});
