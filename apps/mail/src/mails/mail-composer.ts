import { Inject, Injectable } from '@nestjs/common';
import type { SendMailOptions } from 'nodemailer';
import { DeliveryRefused } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.types.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { TemplatesService } from '../templates/templates.service.js';
import { isMailAddress, linkOf } from './mail.rules.js';
import type { MailContent } from './mail.types.js';

/** A mail as it leaves. */
export interface ComposedMail {
  readonly options: SendMailOptions;
  /** In angle brackets. The same for every attempt. */
  readonly messageId: string;
  readonly subject: string;
  readonly link: string;
}

/** Writes a mail from what is queued. Every attempt writes the same one, but for a template that was changed meanwhile. */
@Injectable()
export class MailComposer {
  constructor(
    private readonly templates: TemplatesService,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'baseUrl' | 'mailFrom'>,
  ) {}

  /** @throws DeliveryRefused where the recipient is no single address */
  async compose({ id, appId, recipient, content, createdAt }: Delivery): Promise<ComposedMail> {
    if (!isMailAddress(recipient)) throw new DeliveryRefused('the recipient is no mail address');
    // What `MailsService` has queued.
    const { kind, languages, username, applicationName, token, pageUrl } = content as unknown as MailContent;
    const { baseUrl, mailFrom } = this.config;
    const link = linkOf({ kind, token, pageUrl }, baseUrl);
    const variables = { appname: applicationName, email: recipient, username, link };
    const { subject, html, text, language } = await this.templates.render({ appId, kind, languages, variables });
    const messageId = `<${id}@${mailFrom.slice(mailFrom.lastIndexOf('@') + 1)}>`;
    const options: SendMailOptions = {
      // As objects: a text would be read as a list of addresses.
      from: { name: applicationName, address: mailFrom },
      to: { name: '', address: recipient },
      subject,
      html,
      text,
      messageId,
      date: createdAt,
      headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': language },
      disableFileAccess: true,
      disableUrlAccess: true,
    };
    return { options, messageId, subject, link };
  }
}
