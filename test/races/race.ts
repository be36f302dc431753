import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import {
  ApiClient,
  type ApiReply,
  appClient,
  type GatepostServer,
  type Json,
  scaleOfRun,
  startServices,
} from '#testing';

/** Few with `npm test`; `npm run test:races` says how many. */
export const ROUNDS = scaleOfRun('times', 2);
const AT_A_TIME = 4;
const START_MS = 60_000;
const ROUND_MS = 3_000;
/** Of the services, whichever round they come from. */
const COMPLAINT = /"level":"(?:warn|error)"/;
const SHOWN_COMPLAINTS = 3;
/** After so many rounds a race should have ended in more than one way. */
const MANY_ROUNDS = 50;

/** A Gatepost with two processes of every service. */
export function startTwoOfEach(env: Readonly<Record<string, string>> = {}): Promise<GatepostServer> {
  return startServices({ gateway: 2, accounts: 2, 'auth-linking': 2, mail: 2, 'push-delivery': 2 }, env);
}

/** Requests of one kind: how many, and how each is sent to the gateway whose turn it is. */
export interface Requests {
  readonly count: number;
  readonly send: (api: ApiClient, index: number) => Promise<ApiReply>;
}

/** So many requests of one kind. */
export function times(count: number, send: Requests['send']): Requests {
  return { count, send };
}

/** `200`, the code of a refusal, or 503. */
export function outcomeOf({ status, body }: ApiReply): unknown {
  return status < 400 || status >= 500 ? status : (body['code'] ?? status);
}

/** Outcomes, sorted so that they can be compared. */
export function outcomesOf(replies: readonly ApiReply[]): unknown[] {
  return replies.map(outcomeOf).sort((one, other) => Number(one) - Number(other));
}

/** The session tokens that were answered. */
export function tokensOf(...replies: readonly ApiReply[]): string[] {
  return replies.flatMap(({ body: { sessionToken } }) => (typeof sessionToken === 'string' ? [sessionToken] : []));
}

/** So often the same outcome, for comparing with `outcomesOf`. */
export function repeated(count: number, outcome: unknown): unknown[] {
  return Array.from({ length: count }, () => outcome);
}

/** One round of a race: users of its own, requests that cross, and what must be true afterwards. */
export class Round {
  readonly #seen: string[] = [];
  readonly #ends: (() => Promise<unknown>)[] = [];

  constructor(
    readonly server: GatepostServer,
    private readonly database: pg.Pool | undefined,
    private readonly endings: Set<unknown>,
  ) {}

  /** A client of one of the gateways, for what comes before and after the race. */
  api(gateway = 0): ApiClient {
    return appClient(this.server, gateway);
  }

  /** The same with the master key, at the gateway of another client. */
  master({ baseUrl } = this.api()): ApiClient {
    return ApiClient.forMaster(baseUrl, this.server.app);
  }

  /** Sends all of them in the same moment, in an order of chance, over all gateways in turn. @returns the replies, by kind */
  async cross<Kind extends string>(kinds: Readonly<Record<Kind, Requests>>): Promise<Record<Kind, ApiReply[]>> {
    const replies = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []])) as unknown as Record<
      Kind,
      ApiReply[]
    >;
    const all = (Object.entries(kinds) as [Kind, Requests][]).flatMap(([kind, { count, send }]) =>
      Array.from({ length: count }, (_, index) => async (gateway: number) => {
        replies[kind][index] = await send(this.api(gateway), index);
      }),
    );
    await Promise.all(shuffled(all).map((request, gateway) => request(gateway)));
    for (const kind of Object.keys(kinds) as Kind[]) this.note(`${kind}: ${summaryOf(replies[kind])}`);
    return replies;
  }

  /** The same for requests of one kind. */
  async atOnce(count: number, send: Requests['send']): Promise<ApiReply[]> {
    return (await this.cross({ requests: times(count, send) })).requests;
  }

  /** The outcomes of the race: if they are the same in many rounds, the requests are not really concurrent. */
  endedIn(...outcomes: readonly unknown[]): void {
    for (const outcome of outcomes) this.endings.add(outcome);
  }

  /** Does this after the round, also where it fails. */
  atEnd(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  async end(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end()));
  }

  /** Additional text for a failure of this round. */
  note(text: string): void {
    this.#seen.push(text);
  }

  /** Which of these session tokens are good: every gateway must say the same. */
  async goodOf(tokens: Iterable<unknown>): Promise<string[]> {
    const distinct = [...new Set([...tokens].map(String))];
    const answers = await Promise.all(
      this.server.baseUrls.map((_, gateway) =>
        Promise.all(distinct.map((session) => this.api(gateway).get('/1.1/users/me', { session }))),
      ),
    );
    const good = answers.map((replies) => distinct.filter((_, index) => replies[index]?.status === 200));
    for (const other of good) expect(other, 'the gateways agree on session tokens').toEqual(good[0]);
    return good[0] ?? [];
  }

  /** Checks the database; `$1` is the application. A server without access to its database is checked by its answers alone. */
  async expectStored(expected: readonly Json[], sql: string, ...values: readonly unknown[]): Promise<void> {
    const result = await this.database?.query<Json>(sql, [this.server.app.id, ...values]);
    if (result !== undefined) expect(result.rows, sql).toEqual(expected);
  }

  /** Does in the database what no request can. */
  async inDatabase(sql: string, ...values: readonly unknown[]): Promise<void> {
    await this.database?.query(sql, [...values]);
  }

  /** @returns the failure, with what was seen in front */
  failure(title: string, error: unknown): unknown {
    if (!(error instanceof Error)) return error;
    const complaints = this.server.main.stderr.split('\n').filter((line) => COMPLAINT.test(line));
    const seen = [...this.#seen, ...complaints.slice(-SHOWN_COMPLAINTS)];
    error.message = [`${title}: ${error.message}`, ...seen.map((text) => `  seen: ${text}`)].join('\n');
    return error;
  }
}

/** One round at a time: for races that count something of the whole server, or whose many requests would test the machine. */
export const ALONE = 1;

/** Describes a race: a test that runs it many times, a few rounds side by side. */
export type Race = (title: string, run: (round: Round) => Promise<void>, atATime?: number) => void;

/** Races on a server, whose database they look into. */
export function racesOn(server: () => GatepostServer): Race {
  let pool: pg.Pool | undefined;
  const database = () => {
    const connectionString = server().env['DATABASE_URL'];
    if (connectionString !== undefined) pool ??= new pg.Pool({ connectionString, max: AT_A_TIME });
    return pool;
  };
  afterAll(() => pool?.end());
  return (title, run, atATime = AT_A_TIME) => {
    const runAll = async () => {
      const endings = new Set<unknown>();
      await runRounds(() => new Round(server(), database(), endings), run, atATime);
      if (ROUNDS >= MANY_ROUNDS) expect([...endings], 'all that came of the race').not.toHaveLength(1);
    };
    it(title, runAll, START_MS + ROUNDS * ROUND_MS);
  };
}

async function runRounds(newRound: () => Round, run: (round: Round) => Promise<void>, atATime: number): Promise<void> {
  let started = 0;
  const runSome = async () => {
    while (started < ROUNDS) {
      started += 1;
      const title = `round ${started} of ${ROUNDS}`;
      const round = newRound();
      try {
        await run(round);
      } catch (error) {
        started = ROUNDS;
        throw round.failure(title, error);
      } finally {
        await round.end();
      }
    }
  };
  await Promise.all(Array.from({ length: atATime }, runSome));
}

function summaryOf(replies: readonly ApiReply[]): string {
  const counts = new Map<string, number>();
  for (const { status, body } of replies) {
    const outcome = status < 400 ? String(status) : `${status}/${String(body['code'])}`;
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return [...counts].map(([outcome, count]) => `${count} × ${outcome}`).join(', ');
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
