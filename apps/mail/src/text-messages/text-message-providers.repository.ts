import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { TextMessageProviderEntity } from './text-message-provider.entity.js';

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
