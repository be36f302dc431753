import { Injectable, Logger } from '@nestjs/common';
import { sealedCodeContext, type TextMessageRequest } from '#contracts';
import { Sealer } from '#sealing';
import { isTooLate, textOf } from './text-message.rules.js';
import { TextMessageProvider } from './text-message.provider.js';

/** Sends the codes that other services ask for. */
@Injectable()
export class TextMessagesService {
  private readonly logger = new Logger('TextMessages');

  constructor(
    private readonly provider: TextMessageProvider,
    private readonly sealer: Sealer,
  ) {}

  /** @param id of the event: a message that is asked for twice is the same one to the provider */
  async send(id: string, request: TextMessageRequest, now: Date): Promise<void> {
    if (isTooLate(request, now)) {
      this.logger.warn(`message ${id} is not sent: its code has expired`);
      return;
    }
    const code = this.sealer.open(request.sealedCode, sealedCodeContext(request));
    const { appId, mobilePhoneNumber: to, smsType, template, sign, variables } = request;
    await this.provider.send({ id, appId, to, text: textOf(request, code), code, smsType, template, sign, variables });
    this.logger.log(`message ${id} is with its provider`);
  }
}
