import { Inject, Injectable } from '@nestjs/common';
import type { EventContract, EventPayload } from '#contracts';
import { TRANSPORT, type Transport } from './transport.js';

/** Best-effort hints to every process. Nothing may depend on one arriving. */
@Injectable()
export class Broadcasts {
  constructor(@Inject(TRANSPORT) private readonly transport: Transport) {}

  send<C extends EventContract>(contract: C, payload: EventPayload<C>): void {
    this.transport.broadcast(contract.pattern, JSON.stringify(payload));
  }

  on<C extends EventContract>(contract: C, listener: (payload: EventPayload<C>) => void): void {
    this.transport.onBroadcast(contract.pattern, (body) => {
      const payload = contract.payload.safeParse(jsonOf(body));
      if (payload.success) listener(payload.data as EventPayload<C>);
    });
  }
}

/** A hint that is no JSON is none. */
function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
