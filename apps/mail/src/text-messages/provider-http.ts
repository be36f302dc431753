import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { OutboundClient } from '#outbound';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 65_536;
/** Connections to one provider's server; more requests at once wait for one. */
const MAX_CONNECTIONS = 16;

/** The one way out to providers of text messages: never into networks of our own, bounded in time and size. */
@Injectable()
export class ProviderHttp extends OutboundClient implements OnApplicationShutdown {
  constructor(@Inject(MAIL_CONFIG) { internalNetworks }: Pick<MailConfig, 'internalNetworks'>) {
    super({
      internalNetworks,
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      maxConnections: MAX_CONNECTIONS,
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
