import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Entity, PrimaryColumn, type Repository } from 'typeorm';
import { Database, TimeColumn } from '#database';

@Entity('secret_rotations')
export class SecretRotationEntity {
  @PrimaryColumn('text')
  keyId!: string;

  @TimeColumn({ default: () => 'now()' })
  completedAt!: Date;
}

@Injectable()
export class SecretRotationsRepository {
  constructor(
    @InjectRepository(SecretRotationEntity, 'accounts')
    private readonly rotations: Repository<SecretRotationEntity>,
    private readonly database: Database,
  ) {}

  /** @param isChanged whether anything was re-encrypted; if not, the earlier time stays where no other key was current since */
  async record(keyId: string, isChanged: boolean): Promise<void> {
    await this.database.query(
      `INSERT INTO accounts.secret_rotations AS recorded (key_id) VALUES ($1)
       ON CONFLICT ON CONSTRAINT secret_rotations_pkey
       DO UPDATE SET completed_at = CASE WHEN $2 OR EXISTS (
         SELECT 1 FROM accounts.secret_rotations AS other
          WHERE other.key_id <> recorded.key_id AND other.completed_at > recorded.completed_at)
         THEN now() ELSE recorded.completed_at END`,
      [keyId, isChanged],
    );
  }

  async find(keyId: string): Promise<Date | undefined> {
    const row = await this.rotations.findOneBy({ keyId });
    return row?.completedAt;
  }
}
