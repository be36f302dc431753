import { Controller } from '@nestjs/common';
import { events } from '#contracts';
import { EventHandler, type ReceivedEvent } from '#messaging';
import { TextMessagesService } from './text-messages.service.js';

@Controller()
export class TextMessagesController {
  constructor(private readonly messages: TextMessagesService) {}

  @EventHandler(events.smsRequested)
  async request({ id, payload }: ReceivedEvent<typeof events.smsRequested>): Promise<void> {
    await this.messages.request(id, payload);
  }
}
