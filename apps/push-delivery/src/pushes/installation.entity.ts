import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';

@Entity('installations')
@Unique('installations_device_token_key', ['appId', 'deviceType', 'deviceToken'])
@Unique('installations_installation_id_key', ['appId', 'installationId'])
@Index('installations_fields_idx', { synchronize: false })
@Index('installations_newest_idx', ['appId', 'createdAt', 'objectId'])
@Index('installations_scan_idx', { synchronize: false })
@Index('installations_targets_idx', ['appId', 'partition', 'objectId'])
export class InstallationEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'installations_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'object_id', primaryKeyConstraintName: 'installations_pkey' })
  objectId!: string;

  @Column('smallint')
  partition!: number;

  @Column('text', { name: 'installation_id', nullable: true })
  installationId!: string | null;

  @Column('text', { name: 'device_type', nullable: true })
  deviceType!: string | null;

  @Column('text', { name: 'device_token', nullable: true })
  deviceToken!: string | null;

  @Column('boolean', { default: true })
  valid!: boolean;

  @Column('text', { name: 'invalid_reason', nullable: true })
  invalidReason!: string | null;

  @Column('jsonb', { nullable: true })
  acl!: unknown;

  @Column('jsonb', { default: {} })
  fields!: unknown;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3 })
  updatedAt!: Date;
}
