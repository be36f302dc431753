import { createHash } from 'node:crypto';
import { Check, Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import type { ClassName, FieldIndexReport } from '#contracts';
import { type Database, TimeColumn, type Tx } from '#database';
import { appError } from '#errors';

@Entity('field_indexes')
@Unique('field_indexes_index_name_key', ['indexName'])
@Check(
  'field_indexes_state_check',
  "(state = ANY (ARRAY['building'::text, 'ready'::text, 'failed'::text, 'removing'::text]))",
)
export class FieldIndexEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  className!: string;

  @PrimaryColumn('text', { array: true })
  fields!: string[];

  @Column('text')
  indexName!: string;

  @Column('text', { default: 'building' })
  state!: string;

  @Column('text', { nullable: true })
  problem!: string | null;

  @TimeColumn({ default: () => 'now()' })
  changedAt!: Date;
}

/** How often a kind of query took long within an hour. It holds no values of queries. */
@Entity('slow_questions')
export class SlowQueryEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  className!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  question!: string;

  @PrimaryColumn({ type: 'timestamptz', precision: 0 })
  hour!: Date;

  @Column('text', { array: true })
  fields!: string[];

  @Column('integer')
  runs!: number;

  @Column('double precision')
  totalMs!: number;

  @Column('double precision')
  maxMs!: number;
}

export const FIELD_INDEX_ENTITIES = [FieldIndexEntity, SlowQueryEntity];

/** The tables of a service's indexes of custom fields. Applied migrations contain this SQL: changes need a new migration. */
export function createFieldIndexTables(schema: string): readonly string[] {
  return [
    `CREATE TABLE ${schema}.field_indexes (
       app_id     text NOT NULL,
       class_name text NOT NULL,
       fields     text[] NOT NULL,
       index_name text NOT NULL,
       state      text NOT NULL DEFAULT 'building',
       problem    text,
       changed_at timestamptz(3) NOT NULL DEFAULT now(),
       CONSTRAINT field_indexes_pkey PRIMARY KEY (app_id, class_name, fields),
       CONSTRAINT field_indexes_index_name_key UNIQUE (index_name),
       CONSTRAINT field_indexes_state_check CHECK (state IN ('building', 'ready', 'failed', 'removing'))
     )`,
    `CREATE TABLE ${schema}.slow_questions (
       app_id     text NOT NULL,
       class_name text NOT NULL,
       question   text COLLATE "C" NOT NULL,
       hour       timestamptz(0) NOT NULL,
       fields     text[] NOT NULL,
       runs       int NOT NULL,
       total_ms   float8 NOT NULL,
       max_ms     float8 NOT NULL,
       CONSTRAINT slow_questions_pkey PRIMARY KEY (app_id, class_name, question, hour)
     )`,
  ];
}

/** Each index slows down every write to the class by the application. */
const MAX_OF_APPLICATION = 8;
/** Each index adds cost to planning and vacuuming of a table that all applications share. */
const MAX_OF_SERVICE = 64;

export interface IndexKey {
  readonly appId: string;
  readonly className: ClassName;
  readonly fields: readonly string[];
}

export interface StoredIndex extends IndexKey {
  readonly indexName: string;
  readonly state: FieldIndexReport['state'];
  readonly problem: string | null;
  readonly changedAt: Date;
}

const COLUMNS = `app_id AS "appId", class_name AS "className", fields, index_name AS "indexName", state, problem,
  changed_at AS "changedAt"`;
const IS_KEY = 'app_id = $1 AND class_name = $2 AND fields = $3';

export class FieldIndexesRepository {
  constructor(
    private readonly database: Database,
    private readonly schema: string,
  ) {}

  ready(): Promise<IndexKey[]> {
    return this.database.query<IndexKey>(
      `SELECT ${COLUMNS} FROM ${this.schema}.field_indexes WHERE state = 'ready'`,
      [],
      `${this.schema}.fieldIndexes.ready`,
    );
  }

  pending(): Promise<StoredIndex[]> {
    return this.database.query<StoredIndex>(
      `SELECT ${COLUMNS} FROM ${this.schema}.field_indexes WHERE state IN ('building', 'removing') ORDER BY changed_at, index_name`,
      [],
      `${this.schema}.fieldIndexes.pending`,
    );
  }

  add(key: IndexKey): Promise<void> {
    return this.database.transaction(async (tx) => {
      // The lock keeps concurrent requests from exceeding the limits together.
      await tx.query(`LOCK TABLE ${this.schema}.field_indexes IN SHARE ROW EXCLUSIVE MODE`);
      const [before] = await tx.query<StoredIndex>(
        `SELECT ${COLUMNS} FROM ${this.schema}.field_indexes WHERE ${IS_KEY}`,
        valuesOf(key),
      );
      if (before?.state === 'removing') throw refused('The index is being removed. Add it again after the removal.');
      if (before?.state === 'failed') await this.#retry(tx, key);
      else if (before === undefined) await this.#insert(tx, key);
    });
  }

  async markRemoving(key: IndexKey): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.schema}.field_indexes SET state = 'removing', changed_at = now() WHERE ${IS_KEY} RETURNING 1`,
      valuesOf(key),
    );
    return rows.length > 0;
  }

  /** Has no effect where an operator has requested the removal meanwhile. */
  async markBuilt(key: IndexKey, problem: string | null): Promise<void> {
    await this.database.query(
      `UPDATE ${this.schema}.field_indexes SET state = $4, problem = $5, changed_at = now() WHERE ${IS_KEY} AND state = 'building'`,
      [...valuesOf(key), problem === null ? 'ready' : 'failed', problem],
    );
  }

  async forget(key: IndexKey): Promise<void> {
    await this.database.query(
      `DELETE FROM ${this.schema}.field_indexes WHERE ${IS_KEY} AND state = 'removing'`,
      valuesOf(key),
    );
  }

  async report(appId: string): Promise<FieldIndexReport[]> {
    const rows = await this.database.query<FieldIndexReport & ProgressRow>(
      `SELECT ${COLUMNS}, COALESCE(pg_relation_size(oid), 0)::float8 AS bytes, phase,
              CASE WHEN tuples_total > 0 THEN tuples_done::float8 / tuples_total
                   WHEN blocks_total > 0 THEN blocks_done::float8 / blocks_total END AS part
         FROM ${this.schema}.field_indexes
         LEFT JOIN LATERAL (SELECT to_regclass('${this.schema}.' || index_name)::oid AS oid) AS relation ON TRUE
         LEFT JOIN pg_stat_progress_create_index AS progress ON index_relid = oid AND state = 'building'
        WHERE app_id = $1 ORDER BY class_name, fields`,
      [appId],
    );
    return rows.map(({ className, fields, state, problem, bytes, phase, part }) => {
      const percent = part === null ? null : Math.min(100, Math.round(part * 100));
      return { className, fields, state, problem, bytes, progress: phase === null ? null : { phase, percent } };
    });
  }

  async #insert(tx: Tx, key: IndexKey): Promise<void> {
    const [counts] = await tx.query<{ all: number; own: number }>(
      `SELECT count(*)::int AS all, (count(*) FILTER (WHERE app_id = $1))::int AS own FROM ${this.schema}.field_indexes`,
      [key.appId],
    );
    if ((counts?.own ?? 0) >= MAX_OF_APPLICATION)
      throw refused(
        `An application may have at most ${MAX_OF_APPLICATION} indexes of custom fields in a service. Remove one first.`,
      );
    if ((counts?.all ?? 0) >= MAX_OF_SERVICE)
      throw refused(
        `All applications together may have at most ${MAX_OF_SERVICE} indexes of custom fields in a service. Remove one first.`,
      );
    await tx.query(
      `INSERT INTO ${this.schema}.field_indexes (app_id, class_name, fields, index_name) VALUES ($1, $2, $3, $4)`,
      [...valuesOf(key), nameOf(key)],
    );
  }

  async #retry(tx: Tx, key: IndexKey): Promise<void> {
    await tx.query(
      `UPDATE ${this.schema}.field_indexes SET state = 'building', problem = NULL, changed_at = now() WHERE ${IS_KEY}`,
      valuesOf(key),
    );
  }
}

interface ProgressRow {
  readonly phase: string | null;
  readonly part: number | null;
}

function valuesOf({ appId, className, fields }: IndexKey): unknown[] {
  return [appId, className, fields];
}

/** The index's name in PostgreSQL: deterministic, and valid without quotes. */
function nameOf(key: IndexKey): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(valuesOf(key)))
    .digest('hex');
  return `field_index_${hash.slice(0, 32)}`;
}

function refused(message: string) {
  return appError('INVALID_QUERY', { message });
}
