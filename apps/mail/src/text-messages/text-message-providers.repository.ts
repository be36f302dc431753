import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';
import { SealedCredentialColumns } from '#database';

@Entity('text_message_providers')
export class TextMessageProviderEntity extends SealedCredentialColumns {
  @PrimaryColumn('text')
  appId!: string;

  @Column('text')
  kind!: string;
}

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

  async put(row: TextMessageProviderRow): Promise<void> {
    await this.providers.upsert({ ...row, updatedAt: () => 'now()' }, ['appId']);
  }

  async remove(appId: string): Promise<boolean> {
    const { affected } = await this.providers.delete({ appId });
    return affected === 1;
  }
}
