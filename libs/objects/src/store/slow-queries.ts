import { Logger } from '@nestjs/common';
import type { ClassName, SlowQuery } from '#contracts';
import type { Database } from '#database';
import { messageOf } from '#errors';
import { type QueryKind, queryKind } from '../query/field-index.js';
import type { ObjectQuery, QueryClass } from '../query/query.js';

/** Queries above this duration are recorded, in milliseconds. A look-up takes one or two. */
const SLOW_MS = 20;
const INTERVAL_MS = 5_000;
/** Kinds of queries that a process records between two writes; above the limit, the slowest stay. */
const MAX_RECORDED = 200;
const MAX_ROWS = 10_000;
const MAX_SHOWN = 50;

interface RecordedQuery extends QueryKind {
  readonly appId: string;
  readonly className: ClassName;
  runs: number;
  totalMs: number;
  maxMs: number;
}

interface QueryOrigin {
  readonly appId: string;
  readonly queryClass: QueryClass;
  readonly query: Pick<ObjectQuery, 'where' | 'order'>;
}

/** The slow queries of the last day, by kind: across all processes, without values. */
export class SlowQueries {
  readonly #logger = new Logger('SlowQueries');
  readonly #recorded = new Map<string, RecordedQuery>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly schema: string,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.#flush(), INTERVAL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flush();
  }

  async timed<T>(origin: QueryOrigin, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      const milliseconds = performance.now() - startedAt;
      if (milliseconds >= SLOW_MS) this.#record(origin, milliseconds);
    }
  }

  async report(appId: string): Promise<Omit<SlowQuery, 'isIndexed'>[]> {
    await this.#flush();
    return this.database.query(
      `SELECT class_name AS "className", question, sum(runs)::int AS runs, round(sum(total_ms) / sum(runs))::int AS "meanMs",
              round(max(max_ms))::int AS "maxMs", (array_agg(to_jsonb(fields) ORDER BY hour DESC))[1] AS fields
         FROM ${this.schema}.slow_questions WHERE app_id = $1 AND hour > now() - interval '24 hours'
        GROUP BY class_name, question ORDER BY sum(total_ms) DESC, question LIMIT ${MAX_SHOWN}`,
      [appId],
    );
  }

  #record({ appId, queryClass, query }: QueryOrigin, milliseconds: number): void {
    const shape = queryKind(query, queryClass);
    const className = queryClass.className as ClassName;
    const key = JSON.stringify([appId, className, shape.question]);
    const before = this.#recorded.get(key);
    if (before === undefined && this.#recorded.size >= MAX_RECORDED && !this.#makeRoom(milliseconds)) return;
    this.#recorded.set(key, {
      ...shape,
      appId,
      className,
      runs: (before?.runs ?? 0) + 1,
      totalMs: (before?.totalMs ?? 0) + milliseconds,
      maxMs: Math.max(before?.maxMs ?? 0, milliseconds),
    });
  }

  #makeRoom(milliseconds: number): boolean {
    const [least] = [...this.#recorded].sort(([, one], [, other]) => one.totalMs - other.totalMs);
    return least !== undefined && least[1].totalMs < milliseconds && this.#recorded.delete(least[0]);
  }

  #flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** A failed write is only logged: the data only helps operators, and new queries will add more. */
  async #write(): Promise<void> {
    if (this.#recorded.size === 0) return;
    const rows = [...this.#recorded.values()];
    this.#recorded.clear();
    try {
      await this.database.query(
        `WITH forgotten AS (DELETE FROM ${this.schema}.slow_questions WHERE hour < now() - interval '25 hours')
         INSERT INTO ${this.schema}.slow_questions AS known (app_id, class_name, question, hour, fields, runs, total_ms, max_ms)
         SELECT "appId", "className", question, date_trunc('hour', now()), fields, runs, "totalMs", "maxMs"
           FROM jsonb_to_recordset($1) AS noted ("appId" text, "className" text, question text, fields text[], runs int,
                                                 "totalMs" float8, "maxMs" float8)
          WHERE (SELECT count(*) FROM ${this.schema}.slow_questions) < ${MAX_ROWS}
          ORDER BY "appId", "className", question
         ON CONFLICT (app_id, class_name, question, hour) DO UPDATE
            SET runs = known.runs + excluded.runs, total_ms = known.total_ms + excluded.total_ms,
                max_ms = greatest(known.max_ms, excluded.max_ms), fields = excluded.fields`,
        [JSON.stringify(rows)],
      );
    } catch (error) {
      this.#logger.warn(`slow queries could not be recorded: ${messageOf(error)}`);
    }
  }
}
