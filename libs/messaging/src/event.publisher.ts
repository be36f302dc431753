import { Inject, Injectable } from '@nestjs/common';
import { type EventMessage, TRANSPORT, type Transport } from './transport.js';

/** Hands committed events to the broker. Only the outbox relay uses it: everything else adds to the outbox. */
@Injectable()
export class EventPublisher {
  constructor(@Inject(TRANSPORT) private readonly transport: Transport) {}

  isConnected(): boolean {
    return this.transport.isConnected();
  }

  publish(message: EventMessage): Promise<void> {
    return this.transport.publishEvent(message);
  }
}
