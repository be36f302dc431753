import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A secret that has resealed every value of the service. */
@Entity('secret_rotations')
export class SecretRotationEntity {
  @PrimaryColumn('text', { name: 'key_id', primaryKeyConstraintName: 'secret_rotations_pkey' })
  keyId!: string;

  @Column({ type: 'timestamptz', name: 'completed_at', precision: 3, default: () => 'now()' })
  completedAt!: Date;
}
