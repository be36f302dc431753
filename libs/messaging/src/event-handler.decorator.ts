import { applyDecorators, UseFilters, UsePipes } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { z } from 'zod';
import type { EventContract, EventPayload } from '#contracts';
import { ContractPipe } from './contract.pipe.js';
import { WireErrorFilter } from './wire-error.filter.js';

/** An event as its handler gets it. The same id may come again: `Inbox.once` tells. */
export interface ReceivedEvent<C extends EventContract> {
  readonly id: string;
  readonly payload: EventPayload<C>;
}

type EventMethod<C extends EventContract> = (event: ReceivedEvent<C>) => Promise<void>;

/** Subscribes a controller method to an event. A rejected promise means: try again later, in the end dead-letter it. */
export function EventHandler<C extends EventContract>(contract: C) {
  const decorate = applyDecorators(
    EventPattern(contract.pattern) as MethodDecorator,
    UsePipes(ContractPipe.forEvent(z.object({ id: z.uuid(), payload: contract.payload }))),
    UseFilters(WireErrorFilter),
  );
  return (target: object, key: string, descriptor: TypedPropertyDescriptor<EventMethod<C>>): void => {
    decorate(target, key, descriptor);
  };
}
