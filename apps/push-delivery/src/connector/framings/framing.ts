import type { ClientCommand } from './client-command.js';
import type { ServerFrame } from './server-frame.js';

/** One way of writing what devices and we say to each other. */
export interface Framing {
  /** As metrics call it. */
  readonly name: string;
  /** Whether its frames are binary ones. */
  readonly isBinary: boolean;
  /** Whether its devices know gaps, and when to come back: those of `gatepost.push.v1`. */
  readonly isOurs: boolean;
  /** @throws MalformedFrame */
  read(payload: Buffer): ClientCommand;
  /** @returns undefined where the framing, or its clients, have no use for it */
  write(frame: ServerFrame): string | Uint8Array | undefined;
}
