import type { Socket } from 'node:net';

/**
 * From now on, what is written to the socket in one turn leaves in one system call. amqplib writes each message by itself: under
 * load those calls are the largest part of a message's cost, here and for the broker that reads them.
 */
export function coalesceWrites(socket: Socket): void {
  const write = socket.write.bind(socket);
  const uncork = () => {
    socket.uncork();
  };
  socket.write = ((...chunk: Parameters<typeof write>) => {
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(uncork);
    }
    return write(...chunk);
  }) as typeof socket.write;
}
