import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { SessionRef } from '../device-queues/device-queues.js';

/** How this process and its sessions are called, by the store and by other processes. */
@Injectable()
export class ConnectorIdentity {
  /** Unique for each start. */
  readonly node = `connector-${randomBytes(6).toString('hex')}`;
  #sessions = 0;

  newSessionId(): string {
    this.#sessions += 1;
    return this.#sessions.toString(36);
  }

  sessionRef(session: string): SessionRef {
    return { node: this.node, session };
  }
}
