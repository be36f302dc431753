import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';

@Entity('text_message_providers')
export class TextMessageProviderEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'text_message_providers_pkey' })
  appId!: string;

  @Column('text')
  kind!: string;

  /** The fields that are not secret. */
  @Column('jsonb')
  shown!: Readonly<Record<string, string>>;

  /** The sealed JSON of the secret fields. */
  @Column('text', { name: 'sealed_secrets' })
  sealedSecrets!: string;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt!: Date;
}

/** The text message provider of an application. */
export type TextMessageProviderRow = Readonly<Omit<TextMessageProviderEntity, 'updatedAt'>>;

@Injectable()
export class TextMessageProvidersRepository {
  constructor(
    @InjectRepository(TextMessageProviderEntity, 'mail')
    private readonly providers: Repository<TextMessageProviderEntity>,
  ) {}

  async find(appId: string): Promise<TextMessageProviderRow | undefined> {
    return (await this.providers.findOneBy({ appId })) ?? undefined;
  }

  async findAny(): Promise<TextMessageProviderRow | undefined> {
    const [row] = await this.providers.find({ take: 1 });
    return row;
  }

  /** Replaces the whole row. */
  async put(row: TextMessageProviderRow): Promise<void> {
    await this.providers.upsert({ ...row, updatedAt: () => 'now()' }, ['appId']);
  }

  /** @returns whether a row was removed */
  async remove(appId: string): Promise<boolean> {
    const { affected } = await this.providers.delete({ appId });
    return affected === 1;
  }
}
