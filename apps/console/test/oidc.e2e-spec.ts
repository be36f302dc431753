import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi, type ConsoleRoute } from '#console-api';
import { newDatabase, OidcIssuer, unique } from '#testing';
import { type ConsoleAnswer, PASSWORD, TestConsole, type Visitor } from './console-service.js';

let issuer: OidcIssuer;
let console: TestConsole;
let owner: Visitor;

beforeAll(async () => {
  issuer = await OidcIssuer.start();
  console = await TestConsole.start({ ...issuer.env, GATEPOST_CONSOLE_SECOND_FACTOR: 'optional' });
  await issuer.serve(console.origin);
  owner = await console.owner();
});
afterAll(async () => {
  await console.stop();
  await issuer.stop();
});
beforeEach(async () => {
  await console.database.query('DELETE FROM console.attempts');
  await console.database.query('UPDATE console.sessions SET proven_at = now()');
});
afterEach(() => {
  issuer.tamper = undefined;
  issuer.fault = undefined;
});

const nameOf = ({ status, body }: ConsoleAnswer) => [status, body['name']];
const finish = (visitor: Visitor, response: string) => visitor.call(consoleApi.finishOidc, { body: { response } });
const isSignedIn = async (visitor: Visitor) => (await visitor.call(consoleApi.listMySessions)).status === 200;

async function begin(visitor: Visitor, route: ConsoleRoute = consoleApi.startOidc): Promise<string> {
  const { body, text, status } = await visitor.call(route);
  if (status !== 200) throw new Error(text);
  return String(body['url']);
}

/** To the issuer and back. */
async function travel(visitor: Visitor, subject: string, route?: ConsoleRoute): Promise<ConsoleAnswer> {
  return finish(visitor, await issuer.browser(subject).visit(await begin(visitor, route)));
}

interface Invited {
  readonly id: string;
  readonly subject: string;
  readonly address: string;
  readonly token: string;
}

/** An operator with an open invitation, and an account of the issuer with the same address. */
async function invited(claims: object = {}): Promise<Invited> {
  const subject = unique('sub');
  const address = `${subject}@example.com`;
  issuer.people.set(subject, { email: address, email_verified: true, name: 'Bo', ...claims });
  const body = { name: 'Bo', address, grants: [{ appId: 'shop', role: 'viewer' }] };
  const answer = await owner.call(consoleApi.inviteOperator, { body });
  const { operator, link } = answer.body as { operator: { id: string }; link: { url: string } };
  return { id: operator.id, subject, address, token: link.url.split('#')[1] ?? '' };
}

/** An operator who has signed in by the issuer. */
async function connected(claims: object = {}): Promise<Invited & { visitor: Visitor }> {
  const one = await invited(claims);
  const visitor = console.visitor();
  expect(nameOf(await travel(visitor, one.subject))).toEqual([200, undefined]);
  return { ...one, visitor };
}

async function withPassword(one: Invited): Promise<Visitor> {
  const visitor = console.visitor();
  await visitor.call(consoleApi.useLink, { body: { token: one.token, password: PASSWORD } });
  return visitor;
}

async function recoveryToken(address: string): Promise<string> {
  const { link } = await console.rpc.recoverOperator({ address, by: 'test' });
  return link.url.split('#')[1] ?? '';
}

async function bindingOf(id: string): Promise<unknown> {
  const [row] = await console.database.query<{ subject: string | null }>(
    'SELECT oidc_subject AS subject FROM console.operators WHERE id = $1',
    [id],
  );
  return row?.subject;
}

async function entriesOf(id: string, running = console): Promise<Record<string, unknown>[]> {
  return running.database.query(
    'SELECT action, outcome, change FROM console.audit WHERE target = $1 ORDER BY begun_at',
    [id],
  );
}

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
    ['of an address that nobody has invited', { email: 'unknown@example.com' }, 'OIDC_NOT_INVITED'],
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
    await owner.call(consoleApi.createOperatorLink, { params: { operatorId: one.id } });
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

describe('an answer of the issuer', () => {
  let subject: string;

  beforeAll(async () => {
    ({ subject } = await connected());
  });

  /** A sign-in that is about to finish. */
  async function answered(change: (url: string) => string = (url) => url) {
    const visitor = console.visitor();
    return { visitor, response: await issuer.browser(subject).visit(change(await begin(visitor))) };
  }

  async function refused(visitor: Visitor, response: string, name: string, status = 400): Promise<void> {
    expect(nameOf(await finish(visitor, response))).toEqual([status, name]);
    expect(await isSignedIn(visitor)).toBe(false);
    const [entry] = await console.database.query(
      'SELECT action, outcome, error_name AS name FROM console.audit ORDER BY begun_at DESC LIMIT 1',
    );
    expect(entry).toEqual({ action: 'finishOidc', outcome: status < 500 ? 'refused' : 'failed', name });
  }

  it('is refused in another browser', async () => {
    const { visitor, response } = await answered();
    await refused(console.visitor(), response, 'OIDC_STATE_INVALID');
    const other = console.visitor();
    await begin(other);
    await refused(other, response, 'OIDC_STATE_INVALID');
    expect((await finish(visitor, response)).status).toBe(200);
  });

  it('is refused with another state, and with the cookie of another sign-in', async () => {
    const { visitor, response } = await answered();
    await refused(visitor, response.replace(/state=[\w-]+/, `state=${'x'.repeat(43)}`), 'OIDC_STATE_INVALID');
    const forged = console.visitor();
    await begin(forged);
    const [sealed = ''] = [...forged.oidcCookies.values()].map((pair) => pair.split('=')[1] ?? '');
    for (const name of visitor.oidcCookies.keys()) forged.oidcCookies.set(name, `${name}=${sealed}`);
    await refused(forged, response, 'OIDC_STATE_INVALID');
  });

  it('counts once, of several uses at once for one of them', async () => {
    const { visitor, response } = await answered();
    const copies = Array.from({ length: 6 }, () => {
      const copy = console.visitor();
      for (const [name, pair] of visitor.oidcCookies) copy.oidcCookies.set(name, pair);
      return copy;
    });
    const answers = await Promise.all(copies.map((copy) => finish(copy, response)));
    const names = answers.map(({ status, body }) => body['name'] ?? status);
    expect(names.toSorted()).toEqual([200, ...Array<string>(5).fill('OIDC_STATE_INVALID')]);
  });

  it('is refused after ten minutes', async () => {
    const { visitor, response } = await answered();
    await console.database.query(`UPDATE console.challenges SET ends_at = now() - interval '1 second'`);
    await refused(visitor, response, 'OIDC_STATE_INVALID');
  });

  it('is refused with a code that was used, for another sign-in', async () => {
    const { visitor, response } = await answered();
    expect((await finish(visitor, response)).status).toBe(200);
    const next = await answered();
    const code = /code=[\w-]+/.exec(response)?.[0] ?? '';
    await refused(next.visitor, next.response.replace(/code=[\w-]+/, code), 'OIDC_ANSWER_INVALID');
  });

  it('is refused with a code of another browser, which has another verifier', async () => {
    const [one, other] = [await answered(), await answered()];
    const code = /code=[\w-]+/.exec(other.response)?.[0] ?? '';
    await refused(one.visitor, one.response.replace(/code=[\w-]+/, code), 'OIDC_ANSWER_INVALID');
  });

  it('is refused with another nonce', async () => {
    const { visitor, response } = await answered((url) => url.replace(/nonce=[\w-]+/, 'nonce=another'));
    await refused(visitor, response, 'OIDC_ANSWER_INVALID');
  });

  it('is refused with a wrong signature', async () => {
    issuer.tamper = (token) => {
      const [head, body = '', signature = ''] = token.split('.');
      return [head, body, `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`].join('.');
    };
    const { visitor, response } = await answered();
    await refused(visitor, response, 'OIDC_ANSWER_INVALID');
  });

  it('is refused with changed claims', async () => {
    issuer.tamper = (token) => {
      const [head, body = '', signature] = token.split('.');
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
      return [head, Buffer.from(JSON.stringify({ ...claims, sub: 'another' })).toString('base64url'), signature].join(
        '.',
      );
    };
    const { visitor, response } = await answered();
    await refused(visitor, response, 'OIDC_ANSWER_INVALID');
  });

  it('is refused with the name of another issuer, and without one', async () => {
    const { visitor, response } = await answered();
    await refused(visitor, response.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example'), 'OIDC_ANSWER_INVALID');
    const next = await answered();
    await refused(next.visitor, next.response.replace(/&iss=[^&]+/, ''), 'OIDC_ANSWER_INVALID');
  });

  it('is refused where the person has refused', async () => {
    const visitor = console.visitor();
    const response = await issuer.browser(subject).visit(await begin(visitor), { deny: '1' });
    await refused(visitor, response, 'OIDC_DENIED', 403);
  });

  it.each(['', 'code=x', `state=${'x'.repeat(43)}`, 'state=a&state=b&code=c', '%', 'x'.repeat(8_000)])(
    'is refused where it is no such answer: %#',
    async (response) => {
      await refused(console.visitor(), response, 'OIDC_STATE_INVALID');
    },
  );

  it.each(['away', 'failing'] as const)('cannot be exchanged while the issuer is %s', async (fault) => {
    const { visitor, response } = await answered();
    issuer.fault = fault;
    const answer = await finish(visitor, response);
    expect([...nameOf(answer), answer.headers['retry-after']]).toEqual([503, 'OIDC_ISSUER_AWAY', '5']);
    expect(await isSignedIn(visitor)).toBe(false);
    issuer.fault = undefined;
    expect((await travel(visitor, subject)).status).toBe(200);
  });

  it('that never comes ends after five seconds', async () => {
    const { visitor, response } = await answered();
    issuer.fault = 'silent';
    const begunAt = performance.now();
    expect(nameOf(await finish(visitor, response))).toEqual([503, 'OIDC_ISSUER_AWAY']);
    expect(performance.now() - begunAt).toBeLessThan(9_000);
  });

  it('and the secret of the client are in no entry of the audit log, nor in an answer', async () => {
    const { visitor, response } = await answered();
    const { text } = await finish(visitor, response);
    const entries = JSON.stringify(await console.database.query('SELECT * FROM console.audit'));
    const code = /code=([\w-]+)/.exec(response)?.[1] ?? '';
    for (const secret of [issuer.clientSecret, code]) {
      expect(code).not.toBe('');
      expect(entries).not.toContain(secret);
      expect(text).not.toContain(secret);
    }
  });
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

  it('keeps the account that is the only way in', async () => {
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
