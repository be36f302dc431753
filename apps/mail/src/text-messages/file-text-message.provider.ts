import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { writeWhole } from '../whole-file.js';
import type { TextMessage, TextMessageProvider } from './text-message.provider.js';

/** Writes each message into a file instead of sending it, and shows it to a developer. */
@Injectable()
export class FileTextMessageProvider implements TextMessageProvider<void> {
  constructor(@Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'textMessageFolder' | 'show'>) {}

  /** The file is named by the message: whoever sends it again writes the same one. It appears whole. */
  async send(message: TextMessage): Promise<void> {
    const file = join(this.config.textMessageFolder, `${message.id}.json`);
    await writeWhole(file, `${JSON.stringify(message, undefined, 2)}\n`);
    this.config.show(`Text message to ${message.to}, code ${message.code}: ${file}`);
  }
}
