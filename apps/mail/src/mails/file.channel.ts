import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { createTransport } from 'nodemailer';
import { DeliveryChannel } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.types.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { writeWhole } from '../whole-file.js';
import { MailComposer } from './mail-composer.js';

/** Writes each mail into a file instead of sending it, and shows its link to a developer. */
@Injectable()
export class FileChannel extends DeliveryChannel {
  readonly channel = 'mail';
  readonly #writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

  constructor(
    private readonly composer: MailComposer,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'mailFolder' | 'show'>,
  ) {
    super();
  }

  /** The file is named by the mail: whoever sends it again writes the same one. */
  async send(delivery: Delivery): Promise<void> {
    const { options, link, subject } = await this.composer.compose(delivery);
    const { message } = await this.#writer.sendMail(options);
    const file = join(this.config.mailFolder, `${delivery.id}.eml`);
    await writeWhole(file, message);
    this.config.show(`Mail to ${delivery.recipient}: ${link}\n  ${subject}\n  ${file}`);
  }
}
