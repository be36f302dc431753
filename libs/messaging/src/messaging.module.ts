import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Readiness } from '#observability';
import { Broadcasts } from './broadcasts.js';
import { EventPublisher } from './event.publisher.js';
import { NodeMessages } from './node-messages.js';
import { RpcClient } from './rpc.client.js';
import { TRANSPORT, type Transport } from './transport.js';

/** Gives every module the clients of the process's one transport, and closes it last. */
@Module({})
export class MessagingModule implements OnApplicationShutdown {
  constructor(
    @Inject(TRANSPORT) private readonly transport: Transport,
    readiness: Readiness,
  ) {
    readiness.register('message broker', () => {
      const problem = transport.problem();
      if (problem !== undefined) throw new Error(problem);
    });
  }

  static forRoot(transport: Transport): DynamicModule {
    return {
      module: MessagingModule,
      global: true,
      providers: [{ provide: TRANSPORT, useValue: transport }, RpcClient, EventPublisher, Broadcasts, NodeMessages],
      exports: [TRANSPORT, RpcClient, EventPublisher, Broadcasts, NodeMessages],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.transport.close();
  }
}
