import { Controller } from '@nestjs/common';
import { events } from '#contracts';
import { EventHandler, type ReceivedEvent } from '#messaging';
import { MailsService } from './mails.service.js';

@Controller()
export class MailsController {
  constructor(private readonly mails: MailsService) {}

  @EventHandler(events.mailRequested)
  async request({ id, payload }: ReceivedEvent<typeof events.mailRequested>): Promise<void> {
    await this.mails.request(id, payload, new Date());
  }

  @EventHandler(events.emailChanged)
  async recordEmailChange({ id, payload }: ReceivedEvent<typeof events.emailChanged>): Promise<void> {
    await this.mails.recordEmailChange(id, payload);
  }

  @EventHandler(events.userDeleted)
  async recordUserDeletion({ id, payload }: ReceivedEvent<typeof events.userDeleted>): Promise<void> {
    await this.mails.recordUserDeletion(id, payload);
  }
}
