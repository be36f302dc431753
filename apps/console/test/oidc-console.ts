import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { consoleApi, type ConsoleRoute } from '#console-api';
import { OidcIssuer, unique } from '#testing';
import { type ConsoleAnswer, PASSWORD, TestConsole, type Visitor } from './console-service.js';

export let issuer: OidcIssuer;
export let console: TestConsole;
export let owner: Visitor;

/** An issuer, a console that uses it, and the first owner, who has a password. */
export function useOidcConsole(): void {
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
}

export const nameOf = ({ status, body }: ConsoleAnswer): [number, unknown] => [status, body['name']];
export const finish = (visitor: Visitor, response: string): Promise<ConsoleAnswer> =>
  visitor.call(consoleApi.finishOidc, { body: { response } });
export const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.call(consoleApi.listMySessions)).status === 200;

export async function begin(visitor: Visitor, route: ConsoleRoute = consoleApi.startOidc): Promise<string> {
  const { body, text, status } = await visitor.call(route);
  if (status !== 200) throw new Error(text);
  return String(body['url']);
}

/** To the issuer and back. */
export async function travel(visitor: Visitor, subject: string, route?: ConsoleRoute): Promise<ConsoleAnswer> {
  return finish(visitor, await issuer.browser(subject).visit(await begin(visitor, route)));
}

export interface Invited {
  readonly id: string;
  readonly subject: string;
  readonly address: string;
  readonly token: string;
}

/** An operator with an open invitation, and an account of the issuer with the same address. */
export async function invited(claims: object = {}): Promise<Invited> {
  const subject = unique('sub');
  const address = `${subject}@example.com`;
  issuer.people.set(subject, { email: address, email_verified: true, name: 'Bo', ...claims });
  const body = { name: 'Bo', address, grants: [{ appId: 'shop', role: 'viewer' }] };
  const answer = await owner.call(consoleApi.inviteOperator, { body });
  const { operator, link } = answer.body as { operator: { id: string }; link: { url: string } };
  return { id: operator.id, subject, address, token: link.url.split('#')[1] ?? '' };
}

/** An operator who has signed in by the issuer. */
export async function connected(claims: object = {}): Promise<Invited & { visitor: Visitor }> {
  const one = await invited(claims);
  const visitor = console.visitor();
  expect(nameOf(await travel(visitor, one.subject))).toEqual([200, undefined]);
  return { ...one, visitor };
}

export async function withPassword(one: Invited): Promise<Visitor> {
  const visitor = console.visitor();
  await visitor.call(consoleApi.useLink, { body: { token: one.token, password: PASSWORD } });
  return visitor;
}

export async function recoveryToken(address: string): Promise<string> {
  const { link } = await console.rpc.recoverOperator({ address, by: 'test' });
  return link.url.split('#')[1] ?? '';
}

export async function bindingOf(id: string): Promise<unknown> {
  const [row] = await console.database.query<{ subject: string | null }>(
    'SELECT oidc_subject AS subject FROM console.operators WHERE id = $1',
    [id],
  );
  return row?.subject;
}

export async function entriesOf(id: string, running = console): Promise<Record<string, unknown>[]> {
  return running.database.query(
    'SELECT action, outcome, change FROM console.audit WHERE target = $1 ORDER BY begun_at',
    [id],
  );
}
