import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { consoleApi } from '#console-api';
import { eventually, gatepost, startServices, useBrowser, useServer } from '#testing';
import { type ConsoleAnswer, Visitor } from '../../apps/console/test/console-service.js';
import { type Replica, startReplica } from '../load/replicas.js';

/** Acts that are under way when a console is killed. */
const ACTS = 8;
/** Until then many acts are done, so that kills meet each part of one. */
const LATEST_KILL_MS = 150;
/** Consoles that start while others are killed. */
const STARTING = 2;
const ROUND_MS = 10_000;
const START_MS = 60_000;
/** An open entry counts as cut off after a minute. */
const SHOWN_MS = 90_000;
/** Entries on a page of the audit log. */
const PAGE_SIZE = 50;

/** The cleanup of a console writes the second, minutes after the first. */
const isOpen = (outcome: string): boolean => outcome === 'begun' || outcome === 'unknown';

interface Entry {
  readonly appId: string;
  readonly outcome: string;
}

/** Kills consoles with SIGKILL while operators act, and accounts for each act afterwards. */
export function describeCutOffActs(kills: number): void {
  describe(`acts in a console that is killed, ${kills} times`, () => {
    const server = useServer(() => startServices({ gateway: 0, accounts: 1 }));
    const visit = useBrowser();
    const database = () => new pg.Client({ connectionString: server().env['DATABASE_URL'] });
    const start = () => startReplica({ app: 'console', env: { ...server().env, GATEPOST_CONSOLE_PORT: '0' } });
    let cookie: string | undefined;
    /** Ids of applications that operators have asked for, and of those whose creation was acknowledged. */
    const asked: string[] = [];
    const acknowledged: string[] = [];

    beforeAll(async () => {
      const first = await start();
      const { stdout } = await gatepost(server(), 'console', 'link');
      const visitor = new Visitor(first);
      const token = /#(\S+)/.exec(stdout)?.[1];
      const owner = { name: 'Ada', address: 'ada@example.com', password: 'correct horse battery' };
      const { status, text } = await visitor.call(consoleApi.setUp, { body: { token, ...owner } });
      expect(status, text).toBe(200);
      ({ cookie } = visitor);
      await first.process.stop();
    }, START_MS);

    const visitorOf = (replica: Replica): Visitor => {
      const visitor = new Visitor(replica);
      visitor.cookie = cookie;
      return visitor;
    };

    /** The outcomes on the first page of acts that were cut off, as an operator sees them. */
    const outcomesOnPage = async ({ port }: Replica): Promise<string[]> => {
      const [name = '', value = ''] = cookie?.split('=') ?? [];
      const { page } = await visit({ locale: 'en-GB' });
      const url = `http://localhost:${port}`;
      await page.context().addCookies([{ name, value, url }]);
      await page.goto(`${url}/audit?action=createApplication&outcome=unknown`);
      const rows = page.getByRole('table').getByRole('row');
      await rows.nth(1).waitFor();
      return rows.getByText(/^(?:done|under way|unknown)$/).allTextContents();
    };

    /** `ended` resolves once each act has its answer, or the end of its connection. */
    const act = (replica: Replica): { readonly ids: readonly string[]; readonly ended: Promise<unknown> } => {
      const ids = Array.from({ length: ACTS }, (_, index) => `cut-${asked.length + index}`);
      asked.push(...ids);
      const answers = ids.map(async (id) => {
        const call = visitorOf(replica).call(consoleApi.createApplication, { body: { name: id, id } });
        const answer: ConsoleAnswer | undefined = await call.catch(() => undefined);
        if (answer?.status === 200) acknowledged.push(id);
      });
      return { ids, ended: Promise.all(answers) };
    };

    it(
      'have one entry each, and without an outcome are shown as unknown',
      async () => {
        const client = database();
        await client.connect();
        const entries = async (ids: readonly string[] = asked): Promise<Entry[]> => {
          const { rows } = await client.query<Entry>(
            `SELECT change->>'id' AS "appId", outcome FROM console.audit WHERE action = 'createApplication' AND change->>'id' = ANY($1)`,
            [ids],
          );
          return rows;
        };
        const accounts = server().processes.find(({ service }) => service === 'accounts')?.pid ?? 0;
        const killAtRandom = async (replica: Replica) => {
          // The first request of a process takes longer.
          await visitorOf(replica).call(consoleApi.getSession);
          const { ended } = act(replica);
          await sleep(Math.random() * LATEST_KILL_MS);
          await replica.process.stop('SIGKILL');
          await ended;
        };
        /** Accounts does the acts after the console that has asked for them is dead. */
        const killBetween = async (replica: Replica) => {
          process.kill(accounts, 'SIGSTOP');
          try {
            const { ids, ended } = act(replica);
            await eventually(async () => {
              expect(await entries(ids)).toHaveLength(ACTS);
            }, ROUND_MS);
            await replica.process.stop('SIGKILL');
            await ended;
          } finally {
            process.kill(accounts, 'SIGCONT');
          }
        };
        const starting = Array.from({ length: Math.min(STARTING, kills) }, start);
        for (let round = 0; round < kills; round += 1) {
          const replica = await starting.shift()!;
          if (round + starting.length + 1 < kills) starting.push(start());
          await (round % 2 === 0 ? killAtRandom(replica) : killBetween(replica));
        }

        const last = await start();
        try {
          const written = await entries();
          const outcomes = new Map(written.map(({ appId, outcome }) => [appId, outcome]));
          expect(written.filter(({ outcome }) => outcome !== 'done' && !isOpen(outcome))).toEqual([]);
          expect(written).toHaveLength(outcomes.size);
          const created = async () => {
            const { rows } = await client.query<{ id: string }>(
              `SELECT id FROM accounts.applications WHERE id LIKE 'cut-%'`,
            );
            return rows.map(({ id }) => id);
          };
          // By then accounts has done the requests in its queue, or they have expired.
          await eventually(async () => {
            const before = await created();
            await sleep(1_000);
            expect(await created()).toHaveLength(before.length);
          }, ROUND_MS);
          const done = new Set(await created());
          expect([...done].filter((id) => !outcomes.has(id))).toEqual([]);
          expect(acknowledged.filter((id) => outcomes.get(id) !== 'done')).toEqual([]);
          expect(written.filter(({ appId, outcome }) => outcome === 'done' && !done.has(appId))).toEqual([]);
          const open = written.filter(({ outcome }) => isOpen(outcome));
          expect(open.filter(({ appId }) => done.has(appId)).length).toBeGreaterThan(0);
          process.stderr.write(
            `${kills} kills: ${asked.length} acts asked for, ${written.length} entries, ${done.size} done, ${open.length} open\n`,
          );

          await eventually(async () => {
            const { unknown, done: shownDone = 0, ...others } = await outcomesShown(visitorOf(last));
            expect([unknown, shownDone, others]).toEqual([open.length, written.length - open.length, {}]);
          }, SHOWN_MS);
          const onPage = Math.min(open.length, PAGE_SIZE);
          expect(await outcomesOnPage(last)).toEqual(Array.from({ length: onPage }, () => 'unknown'));
        } finally {
          await last.process.stop();
          await client.end();
        }
      },
      SHOWN_MS + START_MS + kills * ROUND_MS,
    );
  });
}

/** The number of entries by outcome, as the page of the audit log gets them. */
async function outcomesShown(visitor: Visitor): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let after: string | null = null;
  do {
    const query = { action: 'createApplication', limit: '200', ...(after === null ? {} : { after }) };
    const { items, next } = consoleApi.listAudit.reply.parse(
      (await visitor.call(consoleApi.listAudit, { query })).body,
    ) as { items: { outcome: string }[]; next: string | null };
    for (const { outcome } of items) counts[outcome] = (counts[outcome] ?? 0) + 1;
    after = next;
  } while (after !== null);
  return counts;
}
