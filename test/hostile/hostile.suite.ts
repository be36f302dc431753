import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatepostServer, scaleOfRun, storedRows } from '#testing';
import { Attack } from './attack.js';
import { corpusFor } from './corpus/requests.js';
import type { HostileRequest } from './hostile-request.js';
import { ProcessWatch } from './process-watch.js';

const USUAL_REQUESTS = 20_000;
const USUAL_SEED = 1;
/** So much of all is sent before the memory is noted: afterwards nothing is new to the processes any more. */
const WARM_UP = 0.3;
/** So much of all is generated; the rest is known. */
const GENERATED = 0.5;
const MAX_COMPLAINTS = 20;
/** Tables in which the victims have what is theirs. Others keep, for one, which roles of attackers they were put into. */
const LASTING =
  /^(?:accounts\.(?:users|identities|roles|role_users|role_children)|push\.(?:installations|notifications))$/;

/** Whatever attackers send to a server: nothing breaks, nothing is shown, nothing is changed, nothing grows. */
export function describeHostileInput(server: () => GatepostServer, share: number): void {
  describe('hostile input', () => {
    const [requests, seed] = [scaleOfRun('requests', USUAL_REQUESTS) * share, scaleOfRun('seed', USUAL_SEED)];
    const generated = requests * GENERATED;
    const known = () => someOf(corpusFor(attack.api.operations), requests - generated, seed);
    const knownBefore = Math.round((requests - generated) * WARM_UP);
    let attack: Attack;
    let watch: ProcessWatch;
    let before: { readonly seen: unknown; readonly rows: string[] };

    beforeAll(async () => {
      attack = await Attack.on(server());
      before = { seen: await attack.cast.victimsNow(), rows: await rowsOf(server(), attack.cast.victimIds) };
      watch = await ProcessWatch.over(server());
      watch.start();
    });
    afterAll(() => {
      (attack as Attack | undefined)?.close();
      (watch as ProcessWatch | undefined)?.close();
    });

    it('a first part, after which nothing is new to the processes', async () => {
      expect(await attack.generated(generated * WARM_UP, seed)).toEqual([]);
      expect(await attack.listed(known().slice(0, knownBefore))).toEqual([]);
      await watch.noteWarm();
    });

    it('generated requests to every endpoint', async () => {
      expect(await attack.generated(generated * (1 - WARM_UP), seed + 1_000)).toEqual([]);
    });

    it('known attacks at every place of every endpoint', async () => {
      expect(await attack.listed(known().slice(knownBefore))).toEqual([]);
    });

    it('changed nothing of the victims', async () => {
      expect(await attack.cast.victimsNow()).toEqual(before.seen);
      // There are new rows that speak of victims: roles and texts of the attackers.
      expect(await rowsOf(server(), attack.cast.victimIds)).toEqual(expect.arrayContaining(before.rows));
    });

    it('kept no process from answering, grew none, and planted nothing in what all objects share', async () => {
      await watch.stop();
      const lines = [...attack.report(), ...watch.report(), ...complaintsOf(server())];
      process.stderr.write(`${lines.join('\n')}\n`);
      expect(watch.problems((requests * (1 - WARM_UP)) / server().baseUrls.length)).toEqual([]);
    });
  });
}

/** What the server has logged of requests that failed, and of what was away. */
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

/** The victims' rows as they are stored; of the standalone server, whose PostgreSQL nobody else can ask, none. */
async function rowsOf({ env }: GatepostServer, ids: readonly string[]): Promise<string[]> {
  const url = env['DATABASE_URL'];
  const rows = url === undefined ? [] : await storedRows(url);
  return rows
    .filter(({ table, text }) => LASTING.test(table) && ids.some((id) => text.includes(id)))
    .map(({ table, text }) => `${table} ${text}`)
    .sort();
}
