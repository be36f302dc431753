import { randomBytes } from 'node:crypto';
import { TOTP } from 'otpauth';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi, type ConsoleRoute, type RouteReply } from '#console-api';
import { newDatabase } from '#testing';
import { SealingController } from '../src/console.module.js';
import { PASSWORD, TestConsole, type Visitor } from './console-service.js';
import { newSoftPasskey, type SoftPasskey } from './soft-passkey.js';

const ADDRESS = 'ada@example.com';
const STEP_MS = 30_000;

let console: TestConsole;
let owner: Visitor;

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
});
afterAll(() => console.stop());
beforeEach(() => console.database.query('DELETE FROM console.attempts'));

const signIn = (code?: string, password = PASSWORD) =>
  console.visitor().call(consoleApi.signIn, { body: { address: ADDRESS, password, ...(code && { code }) } });
const nameOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [status, body['name']];
const prove = (visitor: Visitor, code?: string) =>
  visitor.call(consoleApi.prove, { body: { password: PASSWORD, ...(code && { code }) } });
const recoveryCodesOf = (body: unknown) => (body as RouteReply<typeof consoleApi.addPasskey>).newRecoveryCodes ?? [];

describe('one-time codes', () => {
  let totp: TOTP;
  let recoveryCodes: readonly string[];
  const codeAt = (offset: number) => totp.generate({ timestamp: Date.now() + offset * STEP_MS });
  /** Codes count again, as after some time. */
  const forgetUse = () => console.database.query('UPDATE console.one_time_codes SET last_step = NULL');

  it('count once a first code has confirmed them', async () => {
    const { body } = await owner.call(consoleApi.beginOneTimeCodes);
    totp = new TOTP({ secret: String(body['secret']) });
    expect(String(body['uri'])).toMatch(/^otpauth:\/\/totp\/Gatepost%20console:ada%40example\.com\?issuer=/);
    expect((await signIn()).status).toBe(200);
    const wrong = await owner.call(consoleApi.confirmOneTimeCodes, { body: { code: codeAt(10) } });
    expect(nameOf(wrong)).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    const { body: confirmed } = await owner.call(consoleApi.confirmOneTimeCodes, { body: { code: codeAt(0) } });
    expect(confirmed).toMatchObject({ hasCodes: true, recoveryCodes: 10, passkeys: [] });
    recoveryCodes = recoveryCodesOf(confirmed);
    expect(new Set(recoveryCodes).size).toBe(10);
    expect(nameOf(await signIn())).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
  });

  it('move to another device, and count until the new ones are confirmed', async () => {
    const { body } = await owner.call(consoleApi.beginOneTimeCodes);
    const next = new TOTP({ secret: String(body['secret']) });
    await forgetUse();
    expect((await signIn(codeAt(0))).status).toBe(200);
    expect(nameOf(await signIn(next.generate()))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    const confirmed = await owner.call(consoleApi.confirmOneTimeCodes, { body: { code: next.generate() } });
    expect(confirmed.body).toMatchObject({ hasCodes: true, recoveryCodes: 10, newRecoveryCodes: null });
    const former = totp;
    totp = next;
    await forgetUse();
    expect(nameOf(await signIn(former.generate()))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    expect((await signIn(codeAt(0))).status).toBe(200);
  });

  it('count once each, of several sign-ins at once for one of them', async () => {
    expect(nameOf(await signIn(codeAt(0)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    await forgetUse();
    const code = codeAt(0);
    const answers = await Promise.all(Array.from({ length: 5 }, () => signIn(code)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400, 400]);
    expect((await signIn(codeAt(1))).status).toBe(200);
    expect(nameOf(await signIn(codeAt(-1)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    expect(nameOf(await signIn(codeAt(3)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
  });

  it('are refused after six wrong ones, also beside right passwords', async () => {
    await forgetUse();
    for (let attempt = 0; attempt < 6; attempt += 1) {
      expect(nameOf(await signIn())).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
      expect(nameOf(await signIn(codeAt(100 + attempt)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    }
    expect(nameOf(await signIn(codeAt(0)))).toEqual([429, 'TOO_MANY_REQUESTS']);
  });

  it('say nothing where the password is wrong', async () => {
    expect(nameOf(await signIn(codeAt(0), 'wrong password'))).toEqual([400, 'PASSWORD_MISMATCH']);
    expect(nameOf(await signIn(undefined, 'wrong password'))).toEqual([400, 'PASSWORD_MISMATCH']);
  });

  it('are needed for a proof, and for another password', async () => {
    await forgetUse();
    expect(nameOf(await prove(owner))).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
    expect((await prove(owner, codeAt(0))).status).toBe(200);
    const change = { oldPassword: PASSWORD, newPassword: 'another long password' };
    expect(nameOf(await owner.call(consoleApi.changeMyPassword, { body: change }))).toEqual([
      403,
      'SECOND_FACTOR_REQUIRED',
    ]);
  });

  it('are replaced by a recovery code, once', async () => {
    const [code = '', other = ''] = recoveryCodes;
    expect((await signIn(code)).status).toBe(200);
    expect(nameOf(await signIn(code))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    const { body } = await owner.call(consoleApi.renewRecoveryCodes);
    expect(recoveryCodesOf(body)).toHaveLength(10);
    expect(nameOf(await signIn(other))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    expect((await signIn(recoveryCodesOf(body)[0]?.toUpperCase())).status).toBe(200);
  });

  it('are in no audit entry and, but sealed, in no table', async () => {
    const rows = await console.database.query('SELECT change, before, target FROM console.audit');
    const stored = await console.database.query('SELECT * FROM console.one_time_codes');
    const text = JSON.stringify([rows, stored]);
    for (const secret of [totp.secret.base32, codeAt(0), ...recoveryCodes, PASSWORD])
      expect(text).not.toContain(secret);
  });

  it('end with a recovery link, and with their removal', async () => {
    const { link } = await console.rpc.recoverOperator({ address: ADDRESS, by: 'test' });
    const token = link.url.split('#')[1] ?? '';
    const visitor = console.visitor();
    expect((await visitor.call(consoleApi.useLink, { body: { token, password: PASSWORD } })).status).toBe(200);
    expect((await visitor.call(consoleApi.listMyFactors)).body).toEqual({
      hasCodes: false,
      recoveryCodes: 0,
      passkeys: [],
    });
    owner = visitor;
    expect((await signIn()).status).toBe(200);
    expect(nameOf(await owner.call(consoleApi.removeOneTimeCodes))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('passkeys', () => {
  let passkey: SoftPasskey;
  const optionsFor = async (visitor: Visitor, route: ConsoleRoute = consoleApi.beginPasskeySignIn) =>
    ((await visitor.call(route)).body as { options: { challenge: string } }).options;
  const add = async (key: SoftPasskey, name = 'laptop') => {
    const options = await optionsFor(owner, consoleApi.beginPasskey);
    return owner.call(consoleApi.addPasskey, { body: { name, response: key.register(options.challenge) } });
  };
  const passkeySignIn = async (response: object) => {
    const visitor = console.visitor();
    return { visitor, ...(await visitor.call(consoleApi.passkeySignIn, { body: { response } })) };
  };

  it('are added with a name, once', async () => {
    passkey = newSoftPasskey(console.origin);
    const { body } = await add(passkey);
    expect(body).toMatchObject({ passkeys: [{ name: 'laptop', lastUsedAt: null }], recoveryCodes: 10 });
    expect(recoveryCodesOf(body)).toHaveLength(10);
    expect(nameOf(await add(passkey))).toEqual([400, 'NO_EFFECT']);
    expect(nameOf(await signIn())).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
  });

  it('sign in alone, also while the password is locked', async () => {
    for (let attempt = 0; attempt < 6; attempt += 1) await signIn(undefined, 'wrong password');
    expect((await signIn()).status).toBe(429);
    const { challenge } = await optionsFor(console.visitor());
    const { status, body } = await passkeySignIn(passkey.sign(challenge));
    expect([status, body]).toMatchObject([200, { operator: { address: ADDRESS } }]);
    const [entry] = await console.database.query(
      'SELECT action, outcome, operator_id AS id, operator_name AS name FROM console.audit ORDER BY begun_at DESC LIMIT 1',
    );
    const { id, name } = (body as { operator: object }).operator as Record<string, unknown>;
    expect(entry).toEqual({ action: 'passkeySignIn', outcome: 'done', id, name });
  });

  it('sign each challenge once, and only those of the console', async () => {
    const { challenge } = await optionsFor(console.visitor());
    const responses = Array.from({ length: 4 }, () => passkey.sign(challenge));
    const answers = await Promise.all(responses.map(passkeySignIn));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400]);
    const own = 'A'.repeat(43);
    expect(nameOf(await passkeySignIn(passkey.sign(own)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    const forProof = await optionsFor(owner, consoleApi.beginPasskeyProof);
    expect(nameOf(await passkeySignIn(passkey.sign(forProof.challenge)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
  });

  it.each([
    ['of another page', { origin: 'https://evil.example' }],
    ['for another host', { rpId: 'evil.example' }],
    ['without verification of the user', { flags: 0x01 }],
    ['with a counter that has not grown', { counter: 1 }],
    ['of another key', { isForged: true }],
  ])('are refused %s', async (_, how) => {
    const { challenge } = await optionsFor(console.visitor());
    expect(nameOf(await passkeySignIn(passkey.sign(challenge, how)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
  });

  it.each([{}, { id: 'x' }, { id: 1, response: [] }, { id: 'x', rawId: 'x', response: { clientDataJSON: '%' } }])(
    'are refused as %j',
    async (response) => {
      expect(nameOf(await passkeySignIn(response))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    },
  );

  it('prove the identity of their operator only', async () => {
    const { visitor } = await passkeySignIn(passkey.sign((await optionsFor(console.visitor())).challenge));
    await console.database.query('UPDATE console.sessions SET proven_at = NULL');
    expect(nameOf(await visitor.call(consoleApi.renewRecoveryCodes))).toEqual([403, 'PROOF_REQUIRED']);
    const proof = async (by: Visitor) => {
      const { challenge } = await optionsFor(by, consoleApi.beginPasskeyProof);
      return by.call(consoleApi.passkeyProof, { body: { response: passkey.sign(challenge) } });
    };
    expect((await proof(visitor)).status).toBe(200);
    expect((await visitor.call(consoleApi.renewRecoveryCodes)).status).toBe(200);
    owner = visitor;
    const other = await console.withRole(owner, 'developer', 'shop');
    expect(nameOf(await proof(other))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
  });

  it('count with all 32 bits', async () => {
    for (const counter of [3_000_000_000, 3_000_000_001]) {
      const { challenge } = await optionsFor(console.visitor());
      expect((await passkeySignIn(passkey.sign(challenge, { counter }))).status).toBe(200);
    }
    await console.database.query('UPDATE console.passkeys SET counter = 0');
  });

  it('can have ids of 1,023 bytes, and are twenty at most', async () => {
    const long = newSoftPasskey(console.origin, 1_023);
    expect((await add(long)).status).toBe(200);
    expect((await owner.call(consoleApi.removePasskey, { params: { passkeyId: long.id } })).status).toBe(200);
    const others = Array.from({ length: 19 }, () => newSoftPasskey(console.origin));
    for (const other of others) expect((await add(other)).status).toBe(200);
    expect(nameOf(await add(newSoftPasskey(console.origin)))).toEqual([400, 'NO_EFFECT']);
    for (const { id } of others) await owner.call(consoleApi.removePasskey, { params: { passkeyId: id } });
  });

  it('of a disabled operator sign in no more', async () => {
    await console.database.query('UPDATE console.operators SET is_disabled = true WHERE address = $1', [ADDRESS]);
    const { challenge } = await optionsFor(console.visitor());
    expect(nameOf(await passkeySignIn(passkey.sign(challenge)))).toEqual([400, 'SECOND_FACTOR_MISMATCH']);
    await console.database.query('UPDATE console.operators SET is_disabled = false');
  });

  it('and codes that an old session adds do not outlive a recovery link', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { link } = await console.rpc.recoverOperator({ address: ADDRESS, by: 'test' });
      const begun = await owner.call(consoleApi.beginOneTimeCodes);
      const code = new TOTP({ secret: String(begun.body['secret']) }).generate();
      const added = newSoftPasskey(console.origin);
      const { challenge } = await optionsFor(owner, consoleApi.beginPasskey);
      const next = console.visitor();
      const use = { token: link.url.split('#')[1] ?? '', password: PASSWORD };
      const response = added.register(challenge);
      const [used] = await Promise.all([
        next.call(consoleApi.useLink, { body: use }),
        owner.call(consoleApi.addPasskey, { body: { name: 'thief', response } }),
        owner.call(consoleApi.confirmOneTimeCodes, { body: { code } }),
        owner.call(consoleApi.renewRecoveryCodes),
      ]);
      expect(used.status).toBe(200);
      owner = next;
      expect((await owner.call(consoleApi.listMyFactors)).body).toEqual({
        hasCodes: false,
        recoveryCodes: 0,
        passkeys: [],
      });
    }
    passkey = newSoftPasskey(console.origin);
    expect((await add(passkey)).status).toBe(200);
  });

  it('and a session that one begins ends with a recovery link, whichever comes first', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { link } = await console.rpc.recoverOperator({ address: ADDRESS, by: 'test' });
      const { challenge } = await optionsFor(console.visitor());
      const next = console.visitor();
      const use = { token: link.url.split('#')[1] ?? '', password: PASSWORD };
      const [used, { visitor }] = await Promise.all([
        next.call(consoleApi.useLink, { body: use }),
        passkeySignIn(passkey.sign(challenge)),
      ]);
      expect(used.status).toBe(200);
      expect((await visitor.call(consoleApi.listMySessions)).status).toBe(401);
      owner = next;
      passkey = newSoftPasskey(console.origin);
      expect((await add(passkey)).status).toBe(200);
    }
  });

  it('are removed', async () => {
    const { body } = await owner.call(consoleApi.removePasskey, { params: { passkeyId: passkey.id } });
    expect(body).toEqual({ hasCodes: false, recoveryCodes: 0, passkeys: [] });
    expect((await signIn()).status).toBe(200);
  });
});

describe('where a second factor is required', () => {
  let required: TestConsole;
  let first: Visitor;

  beforeAll(async () => {
    required = await TestConsole.start({ GATEPOST_CONSOLE_SECOND_FACTOR: 'required' });
    first = await required.owner();
  });
  afterAll(() => required.stop());

  it('owners and developers reach their own account until they have one', async () => {
    expect((await first.call(consoleApi.getSession)).body).toMatchObject({ needsSecondFactor: true });
    expect(nameOf(await first.call(consoleApi.listOperators))).toEqual([403, 'SECOND_FACTOR_MISSING']);
    expect((await first.call(consoleApi.listMySessions)).status).toBe(200);
    const passkey = newSoftPasskey(required.origin);
    const begun = await first.call(consoleApi.beginPasskey);
    const { options } = begun.body as { options: { challenge: string } };
    const response = passkey.register(options.challenge);
    expect((await first.call(consoleApi.addPasskey, { body: { name: 'key', response } })).status).toBe(200);
    expect((await first.call(consoleApi.getSession)).body).toMatchObject({ needsSecondFactor: false });
    expect((await first.call(consoleApi.listOperators)).status).toBe(200);
    const removal = await first.call(consoleApi.removePasskey, { params: { passkeyId: passkey.id } });
    expect(nameOf(removal)).toEqual([403, 'SECOND_FACTOR_MISSING']);
    const developer = await required.withRole(first, 'developer', 'shop');
    expect((await developer.call(consoleApi.getSession)).body).toMatchObject({ needsSecondFactor: true });
    const viewer = await required.withRole(first, 'viewer', 'shop');
    expect((await viewer.call(consoleApi.getSession)).body).toMatchObject({ needsSecondFactor: false });
    const theirs = newSoftPasskey(required.origin);
    const begunByViewer = await viewer.call(consoleApi.beginPasskey);
    const { challenge } = (begunByViewer.body as { options: { challenge: string } }).options;
    await viewer.call(consoleApi.addPasskey, { body: { name: 'key', response: theirs.register(challenge) } });
    expect((await viewer.call(consoleApi.removePasskey, { params: { passkeyId: theirs.id } })).status).toBe(200);
  });
});

it('one-time codes stay, where the secret that seals them is replaced', async () => {
  const DATABASE_URL = await newDatabase();
  const [before, after] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
  const during = async <T>(env: Readonly<Record<string, string>>, work: (running: TestConsole) => Promise<T>) => {
    const running = await TestConsole.start({ DATABASE_URL, ...env });
    try {
      return await work(running);
    } finally {
      await running.stop();
    }
  };
  const secret = await during({ GATEPOST_SECRET: before }, async (running) => {
    const ada = await running.owner();
    const { body } = await ada.call(consoleApi.beginOneTimeCodes);
    const code = new TOTP({ secret: String(body['secret']) }).generate();
    expect((await ada.call(consoleApi.confirmOneTimeCodes, { body: { code } })).status).toBe(200);
    return String(body['secret']);
  });
  await during({ GATEPOST_SECRET: after, GATEPOST_ACCEPTED_SECRETS: before }, async ({ service }) => {
    const sealing = service.app.get(SealingController);
    const { keyId, tables } = await sealing.describe({});
    const walks = tables.map((table) => sealing.walk({ table, after: null, keyId, reseal: true }));
    expect((await Promise.all(walks)).map(({ resealed }) => resealed)).toEqual([1]);
  });
  await during({ GATEPOST_SECRET: after }, async (running) => {
    const code = new TOTP({ secret }).generate({ timestamp: Date.now() + STEP_MS });
    const body = { address: ADDRESS, password: PASSWORD, code };
    expect((await running.visitor().call(consoleApi.signIn, { body })).status).toBe(200);
  });
});
