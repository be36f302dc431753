import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Check, Column, Entity, ForeignKey, Generated, In, PrimaryColumn, Raw, type Repository } from 'typeorm';
import type { ApplicationSettings, ClassName, ClassOperation, ClassPermission } from '#contracts';
import { TimeColumn, type Tx } from '#database';
import type { KeyKind } from './application.rules.js';

@Entity('applications')
export class ApplicationEntity {
  @PrimaryColumn('text')
  id!: string;

  @Column('text')
  name!: string;

  @Column('text')
  sealedAppKey!: string;

  @Column('text')
  sealedMasterKey!: string;

  /** Only explicit values; defaults are not stored. */
  @Column('jsonb', { default: {} })
  settings!: Partial<ApplicationSettings>;

  @TimeColumn({ default: () => 'now()' })
  createdAt!: Date;

  @Column('text', { nullable: true })
  sealedForwardSecret!: string | null;

  @Column('jsonb', { default: {} })
  classPermissions!: Partial<Record<ClassName, Partial<Record<ClassOperation, ClassPermission>>>>;
}

@Entity('old_application_keys')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'old_application_keys_app_id_fkey' })
@Check('old_application_keys_kind_check', "(kind = ANY (ARRAY['app'::text, 'master'::text]))")
export class OldApplicationKeyEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('uuid')
  @Generated('uuid')
  id!: string;

  @Column('text')
  kind!: KeyKind;

  @Column('text')
  sealedKey!: string;

  @TimeColumn({ default: () => 'now()' })
  replacedAt!: Date;

  @TimeColumn({ nullable: true })
  acceptedUntil!: Date | null;
}

export type ApplicationRow = ApplicationEntity & {
  /** Those that are valid now, the oldest first. */
  readonly oldKeys: readonly OldApplicationKeyEntity[];
};

type SealedKeys = Pick<ApplicationRow, 'sealedAppKey' | 'sealedMasterKey'>;

@Injectable()
export class ApplicationsRepository {
  constructor(
    @InjectRepository(ApplicationEntity, 'accounts') private readonly applications: Repository<ApplicationEntity>,
  ) {}

  /** @param tx the open transaction, if any: it must not wait for a second connection */
  async find(id: string, tx?: Tx): Promise<ApplicationRow | undefined> {
    const [row] = await this.#select(tx).where('application.id = :id', { id }).getMany();
    return row as ApplicationRow | undefined;
  }

  async findAny(): Promise<ApplicationRow | undefined> {
    const [first] = await this.applications.find({ select: { id: true }, take: 1 });
    return first === undefined ? undefined : this.find(first.id);
  }

  async list(): Promise<ApplicationRow[]> {
    return (await this.#select().getMany()) as ApplicationRow[];
  }

  async listIds(limit: number): Promise<string[]> {
    const newest = await this.applications.find({
      select: { id: true },
      order: { createdAt: 'DESC', id: 'ASC' },
      take: limit,
    });
    return newest.map(({ id }) => id);
  }

  /** @returns undefined where the id is taken */
  async insert(
    tx: Tx,
    application: Pick<ApplicationRow, 'id' | 'name'> & SealedKeys,
  ): Promise<ApplicationRow | undefined> {
    const inserted = await applicationsIn(tx)
      .createQueryBuilder()
      .insert()
      .values(application)
      .orIgnore()
      .returning('id')
      .updateEntity(false)
      .execute();
    return (inserted.raw as unknown[]).length === 0 ? undefined : this.find(application.id, tx);
  }

  /** Waits for concurrent creation of applications. @returns whether the table is empty */
  async lockAndCheckEmpty(tx: Tx): Promise<boolean> {
    await tx.query('LOCK TABLE accounts.applications IN SHARE ROW EXCLUSIVE MODE');
    return !(await applicationsIn(tx).exists());
  }

  /** The application, whose concurrent changes wait for the end of the transaction. */
  async lock(tx: Tx, id: string): Promise<ApplicationRow | undefined> {
    await tx.query('SELECT 1 FROM accounts.applications WHERE id = $1 FOR NO KEY UPDATE', [id]);
    return this.find(id, tx);
  }

  async changeSettings(tx: Tx, id: string, changes: Partial<ApplicationSettings>): Promise<ApplicationRow | undefined> {
    await applicationsIn(tx)
      .createQueryBuilder()
      .update()
      .set({ settings: () => 'settings || :changes::jsonb' })
      .where({ id })
      .setParameter('changes', JSON.stringify(changes))
      .execute();
    return this.find(id, tx);
  }

  async changeForwardSecret(tx: Tx, id: string, sealed: string | null): Promise<ApplicationRow | undefined> {
    await applicationsIn(tx).update({ id }, { sealedForwardSecret: sealed });
    return this.find(id, tx);
  }

  async changePermission(
    tx: Tx,
    id: string,
    className: ClassName,
    changes: Partial<Record<ClassOperation, ClassPermission>>,
  ): Promise<ApplicationRow | undefined> {
    const changed = `COALESCE(class_permissions -> :className::text, '{}') || :changes::jsonb`;
    await applicationsIn(tx)
      .createQueryBuilder()
      .update()
      .set({ classPermissions: () => `class_permissions || jsonb_build_object(:className::text, ${changed})` })
      .where({ id })
      .setParameters({ className, changes: JSON.stringify(changes) })
      .execute();
    return this.find(id, tx);
  }

  /** Before they are replaced. Concurrent rotations wait for the row lock. @param seconds how long they stay valid; null: until revoked */
  async keepKeys(tx: Tx, id: string, kinds: readonly KeyKind[], seconds: number | null): Promise<void> {
    await tx.query(
      `INSERT INTO accounts.old_application_keys (app_id, kind, sealed_key, accepted_until)
       SELECT app.id, kept.kind, CASE kept.kind WHEN 'app' THEN app.sealed_app_key ELSE app.sealed_master_key END,
              now() + make_interval(secs => $3)
         FROM accounts.applications AS app CROSS JOIN unnest($2::text[]) AS kept (kind)
        WHERE app.id = $1 FOR NO KEY UPDATE OF app`,
      [id, kinds, seconds],
    );
  }

  async removeOldKeys(tx: Tx, appId: string, kinds: readonly KeyKind[]): Promise<void> {
    await oldKeysIn(tx).delete({ appId, kind: In(kinds) });
  }

  async removeExpiredKeys(tx: Tx, appId: string): Promise<void> {
    await oldKeysIn(tx).delete({ appId, acceptedUntil: Raw((column) => `${column} <= now()`) });
  }

  async replaceKeys(tx: Tx, id: string, keys: Partial<SealedKeys>): Promise<ApplicationRow | undefined> {
    if (Object.keys(keys).length > 0) await applicationsIn(tx).update({ id }, keys);
    return this.find(id, tx);
  }

  /** One statement: a rotation between two would hide keys that are valid. */
  #select(tx?: Tx) {
    return (tx === undefined ? this.applications : applicationsIn(tx))
      .createQueryBuilder('application')
      .leftJoinAndMapMany(
        'application.oldKeys',
        OldApplicationKeyEntity,
        'old',
        'old.appId = application.id AND (old.acceptedUntil IS NULL OR old.acceptedUntil > now())',
      )
      .orderBy({ 'application.createdAt': 'ASC', 'application.id': 'ASC', 'old.replacedAt': 'ASC', 'old.id': 'ASC' });
  }
}

function applicationsIn(tx: Tx): Repository<ApplicationEntity> {
  return tx.manager.getRepository(ApplicationEntity);
}

function oldKeysIn(tx: Tx): Repository<OldApplicationKeyEntity> {
  return tx.manager.getRepository(OldApplicationKeyEntity);
}
