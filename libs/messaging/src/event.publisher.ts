import { Inject, Injectable } from '@nestjs/common';
import { type EventMessage, TRANSPORT, type Transport } from './transport.js';

/** Hands committed events to the broker. Only the outbox relay uses it: everything else adds to the outbox. */
@Injectable()
export class EventPublisher {
  constructor(@Inject(TRANSPORT) private readonly transport: Transport) {}

  /** Whether the broker is there and takes messages. */
  isConnected(): boolean {
    return this.transport.problem() === undefined;
  }

  /**
   * Resolves once the broker has the event. Every confirm has a deadline of 5 seconds.
   * @throws Error where the broker does not have it, or does not say so: it may have it all the same
   */
  publish(message: EventMessage): Promise<void> {
    return this.transport.publishEvent(message);
  }
}
