import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatepostServer, scaleOfRun, storedRows } from '#testing';
import { Attack } from './attack.js';
import { corpusFor } from './corpus/requests.js';
import type { HostileRequest } from './hostile-request.js';
import { ProcessWatch } from './process-watch.js';

const USUAL_REQUESTS = 20_000;
const USUAL_SEED = 1;
/** So much of all is sent before the memory is noted first, and then: in the last part nothing is new to the processes any more. */
const [WARM_UP, MIDDLE] = [0.3, 0.65];
/** So much of all is generated; the rest is known. */
const GENERATED = 0.5;
const MAX_COMPLAINTS = 20;
/** Tables in which the victims have what is theirs. Others keep, for one, which roles of attackers they were put into. */
const LASTING =
  /^(?:accounts\.(?:users|identities|roles|role_users|role_children)|push\.(?:installations|notifications))$/;

/** All attackers come from one address, and many of them with wrong credentials. */
export const UNLIMITED = { GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS: 'off' };

/** Were all answered 401, 219 or 429, nothing would be shown about what is behind. */
const MIN_PASSED_SHARE = 0.15;
/**
 * Endpoints that cannot succeed by requests alone: they need a code or a link sent to another user, a verified number, an unknown id or
 * the master key.
 */
const CLOSED = [
  'DELETE /1.1/scheduledPushMessages/{id}',
  'GET /1.1/scan/classes/{className}',
  'GET /1.1/scheduledPushMessages/{id}',
  'GET /1.1/verifyMobilePhone/{code}',
  'GET /pages/reset-password',
  'POST /1.1/changePhoneNumber',
  'POST /1.1/requestLoginSmsCode',
  'POST /1.1/requestPasswordResetBySmsCode',
  'POST /1.1/resetPassword/{token}',
  'POST /1.1/resetPasswordBySmsCode/{code}',
  'POST /1.1/usersByMobilePhone',
  'POST /1.1/verifyMobilePhone/{code}',
  'POST /1.1/verifySmsCode/{code}',
  'POST /pages/reset-password',
  'POST /pages/reset-password/renew',
  'PUT /1.1/resetPasswordBySmsCode/{code}',
];
/**
 * Endpoints that succeed with the attackers' one link while its user exists, with a number that no other request has just used, or where
 * all of several values fit.
 */
const SELDOM_OPEN = [
  'GET /1.1/login',
  'GET /1.1/push/webPushKey',
  'GET /pages/verify-email',
  'POST /1.1/push/devices',
  'POST /1.1/requestMobilePhoneVerify',
  'POST /1.1/verifyEmail/{token}',
  'POST /pages/verify-email',
  'POST /pages/verify-email/renew',
];

/** Attacks on a server: nothing fails, leaks, changes or grows. */
export function describeHostileInput(server: () => GatepostServer, share: number): void {
  describe('hostile input', () => {
    const [requests, seed] = [scaleOfRun('requests', USUAL_REQUESTS) * share, scaleOfRun('seed', USUAL_SEED)];
    const generated = requests * GENERATED;
    const known = () => someOf(corpusFor(attack.api.operations), requests - generated, seed);
    const knownUntil = (part: number) => Math.round((requests - generated) * part);
    let attack: Attack;
    let watch: ProcessWatch;
    let before: { readonly seen: unknown; readonly rows: string[] };

    beforeAll(async () => {
      attack = await Attack.on(server());
      before = { seen: await attack.fixtures.victimsNow(), rows: await rowsOf(server(), attack.fixtures.victimIds) };
      watch = await ProcessWatch.over(server());
      watch.start();
    });
    afterAll(() => {
      (attack as Attack | undefined)?.close();
      (watch as ProcessWatch | undefined)?.close();
    });

    it('a first part, after which little is new to the processes', async () => {
      expect(await attack.generated(generated * WARM_UP, seed)).toEqual([]);
      expect(await attack.listed(known().slice(0, knownUntil(WARM_UP)))).toEqual([]);
      await watch.note();
    });

    it('a second part, after which nothing is new to them', async () => {
      expect(await attack.generated(generated * (MIDDLE - WARM_UP), seed + 1_000)).toEqual([]);
      expect(await attack.listed(known().slice(knownUntil(WARM_UP), knownUntil(MIDDLE)))).toEqual([]);
      await watch.note();
    });

    it('generated requests to every endpoint', async () => {
      expect(await attack.generated(generated * (1 - MIDDLE), seed + 2_000)).toEqual([]);
    });

    it('known attacks at every place of every endpoint', async () => {
      expect(await attack.listed(known().slice(knownUntil(MIDDLE)))).toEqual([]);
      await watch.note();
    });

    it('let attackers in, wherever requests alone can do it', () => {
      expect(attack.statistics.generated.passedShare).toBeGreaterThan(MIN_PASSED_SHARE);
      const closed = attack.neverLetIn();
      if (closed !== undefined) expect(closed.filter((endpoint) => !SELDOM_OPEN.includes(endpoint))).toEqual(CLOSED);
    });

    it('changed nothing of the victims', async () => {
      expect(await attack.fixtures.victimsNow()).toEqual(before.seen);
      // There are new rows that speak of victims: roles and texts of the attackers.
      expect(await rowsOf(server(), attack.fixtures.victimIds)).toEqual(expect.arrayContaining(before.rows));
    });

    it('kept no process from answering, grew none, and planted nothing in what all objects share', async () => {
      await watch.stop();
      const lines = [...attack.report(), ...watch.report(), ...complaintsOf(server())];
      process.stderr.write(`${lines.join('\n')}\n`);
      expect(watch.problems()).toEqual([]);
    });
  });
}

/** The server's log of failed requests, and of unreachable dependencies. */
function complaintsOf({ main }: GatepostServer): string[] {
  return main.stderr
    .split('\n')
    .filter((line) => /"level":"(?:warn|error|fatal)"/.test(line))
    .slice(0, MAX_COMPLAINTS);
}

/** So many of the requests, all where there are no more: the same ones for the same seed. */
function someOf(all: readonly HostileRequest[], count: number, seed: number): readonly HostileRequest[] {
  const length = Math.min(all.length, Math.round(count));
  const [some = []] = fc.sample(fc.shuffledSubarray([...all], { minLength: length, maxLength: length }), {
    seed,
    numRuns: 1,
  });
  return some;
}

/** The victims' rows as they are stored; none of the standalone server, whose PostgreSQL accepts no other client. */
async function rowsOf({ env }: GatepostServer, ids: readonly string[]): Promise<string[]> {
  const url = env['DATABASE_URL'];
  const rows = url === undefined ? [] : await storedRows(url);
  return rows
    .filter(({ table, text }) => LASTING.test(table) && ids.some((id) => text.includes(id)))
    .map(({ table, text }) => `${table} ${text}`)
    .sort();
}
