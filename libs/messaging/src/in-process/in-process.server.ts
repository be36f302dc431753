import { type CustomTransportStrategy, Server } from '@nestjs/microservices';

/** Receives what the in-process transport carries. It only holds the handlers; the transport finds them here. */
export class InProcessServer extends Server implements CustomTransportStrategy {
  listen(callback: () => void): void {
    callback();
  }

  close(): void {
    // Nothing is held open: requests in flight are drained by the HTTP server that waits for their replies.
  }

  on(): never {
    throw new Error('the in-process transport has no events');
  }

  unwrap(): never {
    throw new Error('the in-process transport has no connection');
  }
}
