import { Check, Column, Entity, PrimaryColumn, Unique } from 'typeorm';

/** An index of custom fields that an operator has requested. */
@Entity('field_indexes')
@Unique('field_indexes_index_name_key', ['indexName'])
@Check(
  'field_indexes_state_check',
  "(state = ANY (ARRAY['building'::text, 'ready'::text, 'failed'::text, 'removing'::text]))",
)
export class FieldIndexEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'field_indexes_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'class_name', primaryKeyConstraintName: 'field_indexes_pkey' })
  className!: string;

  @PrimaryColumn('text', { array: true, primaryKeyConstraintName: 'field_indexes_pkey' })
  fields!: string[];

  @Column('text', { name: 'index_name' })
  indexName!: string;

  @Column('text', { default: 'building' })
  state!: string;

  @Column('text', { nullable: true })
  problem!: string | null;

  @Column({ type: 'timestamptz', name: 'changed_at', precision: 3, default: () => 'now()' })
  changedAt!: Date;
}

/** How often a kind of query took long within an hour. It holds no values of queries. */
@Entity('slow_questions')
export class SlowQueryEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'slow_questions_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'class_name', primaryKeyConstraintName: 'slow_questions_pkey' })
  className!: string;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'slow_questions_pkey' })
  question!: string;

  @PrimaryColumn({ type: 'timestamptz', precision: 0, primaryKeyConstraintName: 'slow_questions_pkey' })
  hour!: Date;

  @Column('text', { array: true })
  fields!: string[];

  @Column('integer')
  runs!: number;

  @Column('double precision', { name: 'total_ms' })
  totalMs!: number;

  @Column('double precision', { name: 'max_ms' })
  maxMs!: number;
}

/** The tables of a service that serves queries by custom fields. */
export const FIELD_INDEX_ENTITIES = [FieldIndexEntity, SlowQueryEntity];
