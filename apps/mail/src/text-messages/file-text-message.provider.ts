import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import type { TextMessage, TextMessageProvider } from './text-message.provider.js';

/** Writes each message into a file instead of sending it, and shows it to a developer. */
@Injectable()
export class FileTextMessageProvider implements TextMessageProvider {
  constructor(@Inject(MAIL_CONFIG) private readonly config: MailConfig) {}

  /** The file is named by the message: whoever sends it again writes the same one. It appears whole. */
  async send(message: TextMessage): Promise<void> {
    const { textMessageFolder } = this.config;
    await makeFolder(textMessageFolder);
    const file = join(textMessageFolder, `${message.id}.json`);
    const partial = `${file}.${process.pid}`;
    await writeFile(partial, `${JSON.stringify(message, undefined, 2)}\n`, { mode: 0o600, flush: true });
    await rename(partial, file);
    this.config.show(`Text message to ${message.to}, code ${message.code}: ${file}`);
  }
}

/** Makes the folder, that above it, and the data folder, where they are not there. For us alone: codes are secrets. */
async function makeFolder(folder: string): Promise<void> {
  for (const path of [dirname(dirname(folder)), dirname(folder), folder]) {
    await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }
}
