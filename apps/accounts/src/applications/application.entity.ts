import { Check, Column, Entity, ForeignKey, Generated, PrimaryColumn } from 'typeorm';
import type { ApplicationSettings, ClassName, ClassOperation, ClassPermission } from '#contracts';
import type { KeyKind } from './application.rules.js';

/** An application with its current keys, sealed. */
@Entity('applications')
export class ApplicationEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'applications_pkey' })
  id!: string;

  @Column('text')
  name!: string;

  @Column('text', { name: 'sealed_app_key' })
  sealedAppKey!: string;

  @Column('text', { name: 'sealed_master_key' })
  sealedMasterKey!: string;

  /** Only explicit values; defaults are not stored. */
  @Column('jsonb', { default: {} })
  settings!: Partial<ApplicationSettings>;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt!: Date;

  /** The setting forwardSecret. */
  @Column('text', { name: 'sealed_forward_secret', nullable: true })
  sealedForwardSecret!: string | null;

  /** Only explicit values as well. */
  @Column('jsonb', { name: 'class_permissions', default: {} })
  classPermissions!: Partial<Record<ClassName, Partial<Record<ClassOperation, ClassPermission>>>>;
}

/** A key that has been replaced and is still accepted. */
@Entity('old_application_keys')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'old_application_keys_app_id_fkey' })
@Check('old_application_keys_kind_check', "(kind = ANY (ARRAY['app'::text, 'master'::text]))")
export class OldApplicationKeyEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'old_application_keys_pkey' })
  appId!: string;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'old_application_keys_pkey' })
  @Generated('uuid')
  id!: string;

  @Column('text')
  kind!: KeyKind;

  @Column('text', { name: 'sealed_key' })
  sealedKey!: string;

  @Column({ type: 'timestamptz', name: 'replaced_at', precision: 3, default: () => 'now()' })
  replacedAt!: Date;

  @Column({ type: 'timestamptz', name: 'accepted_until', precision: 3, nullable: true })
  acceptedUntil!: Date | null;
}
