import { beforeAll, describe, expect, it } from 'vitest';
import type { Visitor } from './console-service.js';
import {
  begin,
  connected,
  console,
  finish,
  isSignedIn,
  issuer,
  nameOf,
  travel,
  useOidcConsole,
} from './oidc-console.js';

useOidcConsole();

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
      const [head, body] = issuer.resigned(token, { sub: 'another' }).split('.');
      return [head, body, token.split('.')[2]].join('.');
    };
    const { visitor, response } = await answered();
    await refused(visitor, response, 'OIDC_ANSWER_INVALID');
  });

  it.each([
    ['an empty subject', { sub: '' }],
    ['a time of issue in the future', { iat: Math.floor(Date.now() / 1_000) + 120 }],
  ])('is refused with %s', async (_, claims) => {
    issuer.tamper = (token) => issuer.resigned(token, claims);
    const { visitor, response } = await answered();
    await refused(visitor, response, 'OIDC_ANSWER_INVALID');
  });

  it('is accepted from an issuer whose clock is slightly ahead', async () => {
    issuer.tamper = (token) => issuer.resigned(token, { iat: Math.floor(Date.now() / 1_000) + 20 });
    const { visitor, response } = await answered();
    expect((await finish(visitor, response)).status).toBe(200);
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
