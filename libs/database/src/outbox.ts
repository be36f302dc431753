import { type DynamicModule, Module } from '@nestjs/common';
import { Check, Column, Entity, Generated, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { EventContract, EventPayload } from '#contracts';
import { TRANSPORT, type Transport } from '#messaging';
import { currentTraceparent, Metrics } from '#observability';
import { Database, type Tx } from './database.js';
import { OutboxRelay } from './outbox.relay.js';
import { cleanUp } from './polling-worker.js';
import type { Statement } from './statement.js';

@Entity('outbox')
export class OutboxEventEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Column('uuid')
  @Generated('uuid')
  messageId!: string;

  @Column('text')
  pattern!: string;

  @Column('jsonb')
  payload!: unknown;

  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('timestamptz', { default: () => 'now()' })
  availableAt!: Date;

  @Column('text', { nullable: true })
  requestId!: string | null;

  @Column('text', { nullable: true })
  traceparent!: string | null;
}

@Entity('outbox_lease')
@Check('outbox_lease_one_check', '(id = 1)')
export class OutboxLeaseEntity {
  @PrimaryColumn('smallint')
  id!: number;

  @Column('uuid')
  holder!: string;

  @Column('timestamptz')
  heldUntil!: Date;
}

@Entity('inbox')
@Index('inbox_received_at_idx', ['receivedAt'])
export class InboxMessageEntity {
  @PrimaryColumn('uuid')
  messageId!: string;

  @Column('timestamptz', { default: () => 'now()' })
  receivedAt!: Date;
}

export const OUTBOX_ENTITIES = [OutboxEventEntity, OutboxLeaseEntity];

/** The tables for the first migration of a publishing service. Frozen: later changes are separate migrations. */
export function createOutboxTables(schema: string): string[] {
  return [
    `CREATE TABLE ${schema}.outbox (
       id           bigint GENERATED ALWAYS AS IDENTITY,
       message_id   uuid NOT NULL DEFAULT gen_random_uuid(),
       pattern      text NOT NULL,
       payload      jsonb NOT NULL,
       attempts     integer NOT NULL DEFAULT 0,
       available_at timestamptz NOT NULL DEFAULT now(),
       CONSTRAINT outbox_pkey PRIMARY KEY (id)
     )`,
    ...createInboxTable(schema),
  ];
}

export function addOutboxOrigin(schema: string): string {
  return `ALTER TABLE ${schema}.outbox ADD COLUMN request_id text, ADD COLUMN traceparent text`;
}

export function addOutboxLease(schema: string): string {
  return `CREATE UNLOGGED TABLE ${schema}.outbox_lease (
            id         smallint NOT NULL,
            holder     uuid NOT NULL,
            held_until timestamptz NOT NULL,
            CONSTRAINT outbox_lease_pkey PRIMARY KEY (id),
            CONSTRAINT outbox_lease_one_check CHECK (id = 1)
          )`;
}

/** The table of a service that only handles events. Frozen like the others. */
export function createInboxTable(schema: string): string[] {
  return [
    `CREATE TABLE ${schema}.inbox (
       message_id  uuid NOT NULL,
       received_at timestamptz NOT NULL DEFAULT now(),
       CONSTRAINT inbox_pkey PRIMARY KEY (message_id)
     )`,
    `CREATE INDEX inbox_received_at_idx ON ${schema}.inbox (received_at)`,
  ];
}

interface EventOrigin {
  readonly requestId?: string | undefined;
}

/** The only way for a service to publish an event: a row in the transaction that caused it. */
export class Outbox {
  constructor(
    private readonly schema: string,
    private readonly relay: Pick<OutboxRelay, 'wake'>,
  ) {}

  async add<C extends EventContract>(
    tx: Tx,
    contract: C,
    payload: EventPayload<C>,
    origin?: EventOrigin,
  ): Promise<void> {
    await tx.run(this.addition(contract, payload, origin));
  }

  /** @param origin the request that causes the event, where it is known: subscribers log its id */
  addition<C extends EventContract>(contract: C, payload: EventPayload<C>, { requestId }: EventOrigin = {}): Statement {
    return {
      name: `${this.schema}.outbox.add`,
      text: `${this.#insertion} VALUES ($1, $2, $3, $4)`,
      values: [contract.pattern, JSON.stringify(payload), requestId, currentTraceparent()],
      afterCommit: () => {
        this.relay.wake();
      },
    };
  }

  /** Does the work of `add` without an event, so that the time of a response does not reveal whether there is one. */
  async addDecoy<C extends EventContract>(
    tx: Tx,
    contract: C,
    payload: EventPayload<C>,
    origin?: EventOrigin,
  ): Promise<void> {
    const text = `${this.#insertion} SELECT $1, $2::jsonb, $3, $4 WHERE false`;
    await tx.run({ ...this.addition(contract, payload, origin), name: `${this.schema}.outbox.addDecoy`, text });
  }

  get #insertion(): string {
    return `INSERT INTO ${this.schema}.outbox (pattern, payload, request_id, traceparent)`;
  }
}

@Module({})
export class OutboxModule {
  /** @param token the service's database class, where several services can share a process (`DatabaseModule.forRoot`) */
  static forSchema(schema: string, token: typeof Database = Database): DynamicModule {
    return {
      module: OutboxModule,
      providers: [
        {
          provide: OutboxRelay,
          useFactory: (database: Database, transport: Transport, metrics: Metrics) =>
            new OutboxRelay(database, transport, metrics, schema),
          inject: [token, TRANSPORT, Metrics],
        },
        { provide: Outbox, useFactory: (relay: OutboxRelay) => new Outbox(schema, relay), inject: [OutboxRelay] },
      ],
      exports: [Outbox],
    };
  }
}

/** Longer than a broker stores an unhandled event, dead letters excepted. */
const RETENTION = "interval '30 days'";
/** Expired entries that each new message deletes. */
const CLEANUP_BATCH_SIZE = 20;

export class Inbox {
  constructor(
    private readonly database: Database,
    private readonly schema: string,
  ) {}

  /** Runs `work` in the transaction that also records the message as handled. @returns false where it was handled before */
  async once(messageId: string, work: (tx: Tx) => Promise<void>): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const noted = await tx.query(
        `INSERT INTO ${this.schema}.inbox (message_id) VALUES ($1) ON CONFLICT ON CONSTRAINT inbox_pkey DO NOTHING RETURNING message_id`,
        [messageId],
      );
      if (noted.length === 0) return false;
      await work(tx);
      await this.#forgetOld(tx);
      return true;
    });
  }

  async #forgetOld(tx: Tx): Promise<void> {
    const where = `received_at < now() - ${RETENTION}`;
    await cleanUp(tx, { table: `${this.schema}.inbox`, where, orderBy: 'received_at', limit: CLEANUP_BATCH_SIZE });
  }
}

@Module({})
export class InboxModule {
  static forSchema(schema: string, token: typeof Database = Database): DynamicModule {
    return {
      module: InboxModule,
      providers: [{ provide: Inbox, useFactory: (database: Database) => new Inbox(database, schema), inject: [token] }],
      exports: [Inbox],
    };
  }
}
