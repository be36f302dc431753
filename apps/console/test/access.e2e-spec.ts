import { createHash, randomUUID } from 'node:crypto';
import bcrypt from 'bcrypt';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { consoleApi } from '#console-api';
import { operatorMailsRpc, sealedInvitationContext } from '#contracts';
import { appError } from '#errors';
import { Sealer } from '#security';
import { PasswordHasher } from '#security/passwords';
import { SignInRepository } from '../src/operators/sign-in.repository.js';
import { PASSWORD, TestConsole, type Visitor } from './console-service.js';

let console: TestConsole;
let owner: Visitor;

beforeAll(async () => {
  console = await TestConsole.start({ GATEPOST_TRUSTED_PROXIES: '127.0.0.1' });
});
afterAll(() => console.stop());

const setUpBody = (token: string, name: string) => ({
  token,
  name,
  address: `${name}@example.com`,
  password: PASSWORD,
});

describe('the set-up link', () => {
  it('is one of several that are made at once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => console.setUpToken()));
    expect(await console.database.query('SELECT FROM console.links')).toHaveLength(1);
  });

  it('is replaced by a newer one', async () => {
    const old = await console.setUpToken();
    await console.setUpToken();
    const { status, body } = await console.visitor().call(consoleApi.setUp, { body: setUpBody(old, 'late') });
    expect([status, body['name']]).toEqual([400, 'LINK_EXPIRED']);
  });

  it('makes one owner of two people who use it at once, and is then used up', async () => {
    const token = await console.setUpToken();
    const visitors = Array.from({ length: 8 }, () => console.visitor());
    const answers = await Promise.all(
      visitors.map((visitor, index) => visitor.call(consoleApi.setUp, { body: setUpBody(token, `owner${index}`) })),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, ...Array.from({ length: 7 }, () => 400)]);
    owner = visitors[answers.findIndex(({ status }) => status === 200)]!;
    expect(await console.rpc.createSetUpLink({ by: 'test' })).toEqual({ link: null });
    expect((await console.operators.list()).map(({ isOwner }) => isOwner)).toEqual([true]);
    const { body } = await owner.call(consoleApi.getSession);
    expect(body).toMatchObject({ isSetUp: true, operator: { isOwner: true, grants: [] } });
  });
});

describe('an invitation', () => {
  it('sets a password once, of two at once for one of them', async () => {
    const invitation = { name: 'Bo', address: 'Bo@Example.com', grants: [{ appId: 'shop', role: 'viewer' }] };
    const { body } = await owner.call(consoleApi.inviteOperator, { body: invitation });
    const { operator, link } = body as { operator: object; link: { url: string } };
    expect(operator).toMatchObject({ address: 'bo@example.com', state: 'invited' });
    const token = link.url.split('#')[1] ?? '';
    const looked = await console.visitor().call(consoleApi.inspectLink, { body: { token } });
    expect(looked.body).toMatchObject({ kind: 'invitation', name: 'Bo', address: 'bo@example.com' });
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        console.visitor().call(consoleApi.useLink, { body: { token, password: PASSWORD } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body: { name } }) => name === 'LINK_EXPIRED')).toHaveLength(5);
  });

  it('is mailed in the language of the inviting page, and its link is sealed on the way', async () => {
    const invitation = { name: 'Fay', address: 'fay@example.com', grants: [], language: 'zh' };
    console.transport.answer(operatorMailsRpc.invite, () => ({ isQueued: true }));
    const { body } = await owner.call(consoleApi.inviteOperator, { body: invitation });
    const { link, operator } = body as { link: { url: string; isMailed: boolean }; operator: { id: string } };
    expect(link.isMailed).toBe(true);
    const [mail] = console.transport.requestsOf(operatorMailsRpc.invite).slice(-1);
    expect(mail).toMatchObject({ email: 'fay@example.com', language: 'zh' });
    const sealer = console.service.app.get(Sealer);
    expect(sealer.open(mail?.sealedLink ?? '', sealedInvitationContext('fay@example.com'))).toBe(link.url);

    console.transport.answer(operatorMailsRpc.invite, () => {
      throw appError('SERVICE_UNAVAILABLE');
    });
    const params = { operatorId: operator.id };
    const renewed = await owner.call(consoleApi.createOperatorLink, { params, body: {} });
    expect([renewed.status, renewed.body['link']]).toMatchObject([200, { isMailed: false }]);
    console.transport.answer(operatorMailsRpc.invite, () => ({ isQueued: false }));
  });

  it('is refused for a disabled operator, for whom no link works', async () => {
    const { body } = await owner.call(consoleApi.inviteOperator, {
      body: { name: 'Gil', address: 'gil@example.com', grants: [] },
    });
    const params = { operatorId: (body as { operator: { id: string } }).operator.id };
    await owner.call(consoleApi.changeOperator, { params, body: { isDisabled: true } });
    const { status, body: refusal } = await owner.call(consoleApi.createOperatorLink, { params, body: {} });
    expect([status, refusal['name'], refusal['error']]).toEqual([400, 'NO_EFFECT', expect.stringMatching(/disabled/)]);
    await expect(console.rpc.recoverOperator({ address: 'gil@example.com', by: 'test' })).rejects.toMatchObject({
      errorName: 'NO_EFFECT',
    });
    await owner.call(consoleApi.changeOperator, { params, body: { isDisabled: false } });
    expect((await owner.call(consoleApi.createOperatorLink, { params, body: {} })).status).toBe(200);
  });

  it('with an incomplete token is refused as LINK_EXPIRED', async () => {
    for (const token of ['', 'short', `${'A'.repeat(43)}).`]) {
      const { body } = await console.visitor().call(consoleApi.inspectLink, { body: { token } });
      expect(body['name']).toBe('LINK_EXPIRED');
    }
  });

  it('is refused for an address that another operator has', async () => {
    const again = { name: 'Bo', address: 'bo@EXAMPLE.com', grants: [] };
    const { status, body } = await owner.call(consoleApi.inviteOperator, { body: again });
    expect([status, body['name']]).toEqual([400, 'EMAIL_TAKEN']);
  });

  it('ends after its time', async () => {
    const invitation = { name: 'Cy', address: 'cy@example.com', grants: [] };
    const { body } = await owner.call(consoleApi.inviteOperator, { body: invitation });
    const token = (body as { link: { url: string } }).link.url.split('#')[1] ?? '';
    await console.database.query(
      `UPDATE console.links SET ends_at = now() - interval '1 second' WHERE used_at IS NULL`,
    );
    const used = await console.visitor().call(consoleApi.useLink, { body: { token, password: PASSWORD } });
    expect(used.body['name']).toBe('LINK_EXPIRED');
  });
});

describe('signing in', () => {
  const address = 'bo@example.com';
  const attempt = (password: string, as = address, headers = {}) =>
    console.visitor().call(consoleApi.signIn, { body: { address: as, password }, headers });

  it('answers the same for an unknown address and a wrong password', async () => {
    const [wrong, unknown] = [await attempt('wrong password'), await attempt('wrong password', 'x@example.com')];
    const shown = ({ status, body: { code, name, error } }: typeof wrong) => ({ status, code, name, error });
    expect(shown(unknown)).toEqual(shown(wrong));
    expect(wrong.body['name']).toBe('PASSWORD_MISMATCH');
  });

  it('sets a cookie that scripts cannot read, and that other sites do not send', async () => {
    const { status, headers } = await attempt(PASSWORD);
    expect(status).toBe(200);
    expect(headers['set-cookie']?.[0]).toMatch(/^gatepost-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  });

  it('is locked after six wrong passwords, of twenty at once too, and for an unknown address alike', async () => {
    for (const as of [address, 'stranger@example.com']) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => attempt('wrong password', as)));
      const names = answers.map(({ body: { name } }) => name);
      expect(names.filter((name) => name === 'TOO_MANY_REQUESTS').length).toBeGreaterThanOrEqual(14);
      const locked = await attempt(PASSWORD, as);
      expect([locked.status, locked.body['name']]).toEqual([429, 'TOO_MANY_REQUESTS']);
      expect(Number(locked.headers['retry-after'])).toBeGreaterThan(800);
    }
    const { body } = await owner.call(consoleApi.listOperators);
    const { items } = body as { items: { address: string; lockedUntil: string | null }[] };
    expect(items.find((each) => each.address === address)?.lockedUntil).not.toBeNull();
    await console.database.query('DELETE FROM console.attempts');
  });

  it('counts no attempt without a verdict', async () => {
    const hasher = console.service.app.get(PasswordHasher);
    const verify = vi.spyOn(hasher, 'verify').mockRejectedValue(appError('SERVICE_UNAVAILABLE'));
    for (let index = 0; index < 8; index += 1) expect((await attempt(PASSWORD)).status).toBe(503);
    verify.mockRestore();
    for (let index = 0; index < 6; index += 1) expect((await attempt('wrong password')).status).toBe(400);
    for (let index = 0; index < 30; index += 1) expect((await attempt('wrong password')).status).toBe(429);
    expect((await attempt('wrong password', 'another@example.com')).body['name']).toBe('PASSWORD_MISMATCH');
    await console.database.query('DELETE FROM console.attempts');
  });

  it('is not recorded beyond 120 acts of a network', async () => {
    const count = async () => (await console.database.query('SELECT FROM console.audit')).length;
    const before = await count();
    const answers = [];
    for (let index = 0; index < 122; index += 1) {
      const body = { token: 'x'.repeat(43), password: PASSWORD };
      answers.push(
        await console.visitor().call(consoleApi.useLink, { body, headers: { 'x-forwarded-for': '192.0.2.1' } }),
      );
    }
    const names = answers.map(({ body: { name } }) => name);
    expect(new Set(names.slice(0, 120))).toEqual(new Set(['LINK_EXPIRED']));
    expect(names.slice(120)).toEqual(['TOO_MANY_REQUESTS', 'TOO_MANY_REQUESTS']);
    expect(await count()).toBe(before + 120);
    await console.database.query('DELETE FROM console.attempts');
  });

  it('is recorded beyond 1,200 acts of all networks only with a known credential', async () => {
    await console.database.query(
      `INSERT INTO console.attempts (key, times)
       SELECT 'anonymous:*', array_agg(clock_timestamp()) FROM generate_series(1, 1200)`,
    );
    const count = async () => (await console.database.query('SELECT FROM console.audit')).length;
    const before = await count();
    const token = 'x'.repeat(43);
    const unknown = [
      await attempt('wrong password', 'x@example.com'),
      await console.visitor().call(consoleApi.useLink, { body: { token, password: PASSWORD } }),
      await console.visitor().call(consoleApi.setUp, { body: setUpBody(token, 'late') }),
      await console.visitor().call(consoleApi.passkeySignIn, { body: { response: {} } }),
      await console.visitor().call(consoleApi.passkeySignIn, { body: { response: { id: 'x' } } }),
    ];
    const names = [
      'PASSWORD_MISMATCH',
      'LINK_EXPIRED',
      'LINK_EXPIRED',
      'SECOND_FACTOR_MISMATCH',
      'SECOND_FACTOR_MISMATCH',
    ];
    expect(unknown.map(({ body: { name } }) => name)).toEqual(names);
    expect(await count()).toBe(before);
    expect([(await attempt(PASSWORD)).status, (await attempt('wrong password')).status]).toEqual([200, 400]);
    await console.withRole(owner, 'viewer', 'shop');
    // Two attempts, an invitation, and the use of its link.
    expect(await count()).toBe(before + 4);
    await console.database.query('DELETE FROM console.attempts');
  });

  it('records the name of a known address, and no other text of that field', async () => {
    await attempt('wrong password');
    await attempt('wrong password', 'P@ssw0rd-typed-as-address');
    const rows = await console.database.query<{ name: string; change: unknown }>(
      'SELECT operator_name AS name, change FROM console.audit ORDER BY begun_at DESC LIMIT 2',
    );
    expect(rows).toEqual([
      { name: '', change: { address: '(changed)', password: '(changed)' } },
      { name: 'Bo', change: { address, password: '(changed)' } },
    ]);
    await console.database.query('DELETE FROM console.attempts');
  });

  it('counts all addresses of an IPv6 /64 network as one client', async () => {
    const from = (index: number) => `2001:db8:0:${index < 40 ? 1 : 2}::${index.toString(16)}`;
    const answers = [];
    for (let index = 1; index <= 41; index += 1)
      answers.push(await attempt('wrong password', `${index}@example.com`, { 'x-forwarded-for': from(index) }));
    const names = answers.map(({ body: { name } }) => name);
    expect(names.slice(0, 39)).toEqual([
      ...Array<string>(30).fill('PASSWORD_MISMATCH'),
      ...Array<string>(9).fill('TOO_MANY_REQUESTS'),
    ]);
    expect(names.slice(39)).toEqual(['PASSWORD_MISMATCH', 'PASSWORD_MISMATCH']);
    await console.database.query('DELETE FROM console.attempts');
  });
});

describe('a session', () => {
  const signIn = async () => {
    const visitor = console.visitor();
    await visitor.call(consoleApi.signIn, { body: { address: 'bo@example.com', password: PASSWORD } });
    return visitor;
  };
  const status = async (visitor: Visitor) => (await visitor.call(consoleApi.listMySessions)).status;

  it('ends at sign-out, also for a copy of its cookie', async () => {
    const [visitor, thief] = [await signIn(), console.visitor()];
    thief.cookie = visitor.cookie;
    await visitor.call(consoleApi.signOut);
    expect([await status(visitor), await status(thief)]).toEqual([401, 401]);
  });

  it('gets another cookie with a proof, and the old one ends', async () => {
    const visitor = await signIn();
    const thief = console.visitor();
    thief.cookie = visitor.cookie;
    const { body } = await visitor.call(consoleApi.prove, { body: { password: PASSWORD } });
    expect(body['provenUntil']).not.toBeNull();
    expect([await status(visitor), await status(thief)]).toEqual([200, 401]);
  });

  it.each([
    ['without use for an hour', `used_at = now() - interval '61 minutes'`],
    ['after twelve hours', `ends_at = now()`],
  ])('ends %s', async (_, change) => {
    const visitor = await signIn();
    await console.database.query(`UPDATE console.sessions SET ${change}`);
    expect(await status(visitor)).toBe(401);
    owner.cookie = (await signedInOwner()).cookie;
  });

  it('ends with a change of the password, but for the one that changes it', async () => {
    const [visitor, other] = [await signIn(), await signIn()];
    const body = { oldPassword: PASSWORD, newPassword: 'another good password' };
    expect((await visitor.call(consoleApi.changeMyPassword, { body })).status).toBe(200);
    expect([await status(visitor), await status(other)]).toEqual([200, 401]);
    const back = { oldPassword: body.newPassword, newPassword: PASSWORD };
    await visitor.call(consoleApi.changeMyPassword, { body: back });
  });

  it('compares all of a long password, beyond the 72 bytes that bcrypt reads', async () => {
    const visitor = await signIn();
    const long = '好'.repeat(100);
    const change = (oldPassword: string, newPassword: string) =>
      visitor.call(consoleApi.changeMyPassword, { body: { oldPassword, newPassword } });
    expect((await change(PASSWORD, 'short words')).status).toBe(400);
    expect((await change(PASSWORD, long)).status).toBe(200);
    expect((await change(`${long.slice(1)}x`, PASSWORD)).body['name']).toBe('PASSWORD_MISMATCH');
    expect((await change(long, PASSWORD)).status).toBe(200);
  });

  it('goes on where the next sign-in hashes the password at the present cost', async () => {
    const bo = async () => (await console.operators.credentials('bo@example.com'))!;
    const [visitor, { id, passwordHash: before }] = [await signIn(), await bo()];
    const digest = createHash('sha256').update(PASSWORD).digest('base64');
    const after = `bcrypt-sha256:${await bcrypt.hash(digest, 5)}`;
    expect(await console.operators.rehash(id, { before: 'an earlier hash', after })).toBe(false);
    expect(await console.operators.rehash(id, { before, after })).toBe(true);
    const others = await Promise.all([signIn(), signIn()]);
    expect((await bo()).passwordHash).toMatch(/^bcrypt-sha256:\$2b\$04\$/);
    expect(await Promise.all([visitor, ...others].map(status))).toEqual([200, 200, 200]);
  });

  it('does not begin by a password that has changed since it was compared', async () => {
    const sessions = console.service.app.get(SignInRepository);
    const [bo] = (await console.operators.list()).filter((each) => each.address === 'bo@example.com');
    const { passwordHash } = (await console.operators.credentials('bo@example.com'))!;
    const current = await sessions.createSession(bo!.id, passwordHash, { network: '', name: '' });
    const outdated = await sessions.createSession(bo!.id, 'an earlier hash', { network: '', name: '' });
    const { sessionId } = (await sessions.findSession(current))!;
    expect(await sessions.findSession(outdated)).toBeUndefined();
    const change = { before: 'an earlier hash', after: 'a hash', keptSessionId: sessionId };
    await expect(sessions.setPassword(bo!.id, change)).rejects.toMatchObject({ errorName: 'PASSWORD_MISMATCH' });
    expect((await console.operators.credentials('bo@example.com'))?.passwordHash).toBe(passwordHash);
  });

  it('is prolonged by its operator, and not by a page that asks by itself', async () => {
    const visitor = await signIn();
    const { items } = (await visitor.call(consoleApi.listMySessions)).body as {
      items: { id: string; isCurrent: boolean }[];
    };
    const { id } = items.find(({ isCurrent }) => isCurrent)!;
    await console.database.query(`UPDATE console.sessions SET used_at = now() - interval '5 minutes' WHERE id = $1`, [
      id,
    ]);
    const ofAnother = { headers: { 'X-Gatepost-Operator': randomUUID() } };
    expect((await visitor.call(consoleApi.getSession, ofAnother)).body['operator']).toBeNull();
    const isUsedNow = async (headers: Record<string, string>) => {
      expect((await visitor.call(consoleApi.getSession, { headers })).status).toBe(200);
      const sql = `SELECT used_at > now() - interval '1 minute' AS used FROM console.sessions WHERE id = $1`;
      return (await console.database.query<{ used: boolean }>(sql, [id]))[0]?.used;
    };
    expect([await isUsedNow({ 'X-Gatepost-Unattended': '1' }), await isUsedNow({})]).toEqual([false, true]);
  });

  it('counts for no page that shows another operator, whose acts it neither does nor records', async () => {
    const visitor = await signIn();
    const sessionFor = async (id: string) =>
      (await visitor.call(consoleApi.getSession, { headers: { 'X-Gatepost-Operator': id } })).body['operator'];
    const { operator } = (await visitor.call(consoleApi.getSession)).body as { operator: { id: string } };
    const other = (await console.operators.list()).find(({ id }) => id !== operator.id)?.id ?? '';
    expect([await sessionFor(operator.id), await sessionFor(other)]).toEqual([operator, null]);
    const acts = async () => {
      const [row] = await console.database.query<{ count: string }>(
        `SELECT count(*) FROM console.audit WHERE action = 'changeMe'`,
      );
      return Number(row?.count);
    };
    const before = await acts();
    const rename = (id: string) =>
      visitor.call(consoleApi.changeMe, { headers: { 'X-Gatepost-Operator': id }, body: { name: 'Bo' } });
    expect([(await rename(other)).status, await acts()]).toEqual([401, before]);
    expect([(await rename(operator.id)).status, await acts()]).toEqual([200, before + 1]);
  });

  it('is listed with its browser, and ended from another one', async () => {
    const [visitor, other] = [await signIn(), await signIn()];
    const { body } = await visitor.call(consoleApi.listMySessions);
    const { items } = body as { items: { id: string; isCurrent: boolean }[] };
    expect(items.filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
    for (const { id, isCurrent } of items)
      if (!isCurrent) await visitor.call(consoleApi.endMySession, { params: { sessionId: id } });
    expect([await status(visitor), await status(other)]).toEqual([200, 401]);
  });

  it('ends when the operator is disabled', async () => {
    const visitor = await signIn();
    const { body } = await visitor.call(consoleApi.getSession);
    const { id } = (body as { operator: { id: string } }).operator;
    const params = { operatorId: id };
    await owner.call(consoleApi.changeOperator, { params, body: { isDisabled: true } });
    expect(await status(visitor)).toBe(401);
    await owner.call(consoleApi.changeOperator, { params, body: { isDisabled: false } });
  });

  it('can be proven while others try passwords at the address', async () => {
    const visitor = await signIn();
    for (let index = 0; index < 6; index += 1)
      await console
        .visitor()
        .call(consoleApi.signIn, { body: { address: 'bo@example.com', password: 'wrong password' } });
    const { status } = await visitor.call(consoleApi.prove, { body: { password: PASSWORD } });
    expect(status).toBe(200);
    const tries = await Promise.all(
      Array.from({ length: 8 }, () => visitor.call(consoleApi.prove, { body: { password: 'wrong password' } })),
    );
    expect(tries.filter(({ body: { name } }) => name === 'TOO_MANY_REQUESTS')).toHaveLength(2);
    await console.database.query('DELETE FROM console.attempts');
  });

  it.each(['a\0b', 'a\ud800b', '\ud800'])('stores no text that PostgreSQL refuses: %j', async (name) => {
    const invitation = { name, address: 'di@example.com', grants: [] };
    const { status, body } = await owner.call(consoleApi.inviteOperator, { body: invitation });
    expect([status, body['error']]).toEqual([400, 'body: contains NUL or an unpaired surrogate. Remove it.']);
  });

  it.each(['a\\u0000b', '😀'])('takes a text that only resembles it: %j', async (name) => {
    const invitation = { name, address: `${name.length}@example.com`, grants: [] };
    expect((await owner.call(consoleApi.inviteOperator, { body: invitation })).status).toBe(200);
  });

  it('needs a fresh proof for dangerous acts', async () => {
    await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
    const invitation = { name: 'Di', address: 'di@example.com', grants: [] };
    const refused = await owner.call(consoleApi.inviteOperator, { body: invitation });
    expect([refused.status, refused.body['name']]).toEqual([403, 'PROOF_REQUIRED']);
    await owner.call(consoleApi.prove, { body: { password: PASSWORD } });
    expect((await owner.call(consoleApi.inviteOperator, { body: invitation })).status).toBe(200);
  });

  async function signedInOwner(): Promise<Visitor> {
    const visitor = console.visitor();
    const first = (await console.operators.list()).find(({ isOwner }) => isOwner);
    await visitor.call(consoleApi.signIn, { body: { address: first?.address ?? '', password: PASSWORD } });
    return visitor;
  }
});

it('ownership and grants change together, and only where they are as the operator has seen them', async () => {
  const role = [{ appId: 'shop', role: 'viewer' }] as const;
  const invited = { name: 'Kim', address: 'kim@example.com', isOwner: false, grants: [...role] };
  await owner.call(consoleApi.inviteOperator, { body: invited });
  const kim = async () => (await console.operators.list()).find(({ address }) => address === invited.address);
  const params = { operatorId: (await kim())?.id ?? '' };
  const set = async (isOwner: boolean, former: boolean) => {
    const body = { isOwner, grants: isOwner ? [] : role, former: { isOwner: former, grants: former ? [] : role } };
    return (await owner.call(consoleApi.setGrants, { params, body })).status;
  };
  expect([await set(true, true), await kim()]).toMatchObject([400, { isOwner: false, grants: role }]);
  expect([await set(true, false), await kim()]).toMatchObject([200, { isOwner: true, grants: [] }]);
  expect([await set(true, false), await set(false, true), await kim()]).toMatchObject([400, 200, { isOwner: false }]);
});

describe('the last active owner', () => {
  it('stays, also where two owners remove each other at once', async () => {
    const invited = { name: 'Eve', address: 'eve@example.com', isOwner: true, grants: [] };
    const { body: invitation } = await owner.call(consoleApi.inviteOperator, { body: invited });
    const eve = console.visitor();
    const token = (invitation as { link: { url: string } }).link.url.split('#')[1] ?? '';
    await eve.call(consoleApi.useLink, { body: { token, password: PASSWORD } });
    const ids = (await console.operators.list()).filter(({ isOwner }) => isOwner).map(({ id }) => id);
    expect(ids).toHaveLength(2);
    const [first = '', second = ''] = ids;
    const body = { isOwner: false, grants: [], former: { isOwner: true, grants: [] } };
    const answers = await Promise.all([
      owner.call(consoleApi.setGrants, { params: { operatorId: second }, body }),
      eve.call(consoleApi.setGrants, { params: { operatorId: first }, body }),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await console.operators.list()).filter(({ isOwner }) => isOwner)).toHaveLength(1);
  });
});
