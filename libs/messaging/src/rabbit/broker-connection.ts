import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { type AmqpConnectionManager, connect } from 'amqp-connection-manager';
import type { ChannelModel, Connection } from 'amqplib';

const HEARTBEAT_SECONDS = 10;
const RECONNECT_SECONDS = 1;

/** Opens a connection in the background that reconnects by itself. @param name shown in RabbitMQ's list of connections, and in the log */
export function openConnection(url: string, name: string): AmqpConnectionManager {
  const logger = new Logger('RabbitMQ');
  const connection = connect([url], {
    heartbeatIntervalInSeconds: HEARTBEAT_SECONDS,
    reconnectTimeInSeconds: RECONNECT_SECONDS,
    // Without noDelay a round trip waits 40 ms for Nagle's algorithm.
    connectionOptions: { noDelay: true, clientProperties: { connection_name: name } },
  });
  connection.on('connectFailed', ({ err }) => {
    logger.warn(`${name}: cannot connect: ${err.message}`);
  });
  connection.on('disconnect', ({ err }) => {
    logger.warn(`${name}: disconnected: ${err.message}`);
  });
  connection.on('connect', ({ connection: opened }) => {
    coalesceWrites(socketOf(opened));
    logger.log(`${name}: connected`);
  });
  return connection;
}

/** The socket under a connection. */
export function socketOf(connection: Connection | ChannelModel): Socket {
  return (connection as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/**
 * From now on, what is written to the socket in one turn leaves in one system call. amqplib writes each message by itself: under
 * load those calls are the largest part of a message's cost, here and for the broker that reads them. `write` always says that
 * there is room: amqplib would otherwise keep messages in buffers of its own, and only what is in the socket's can be measured
 * (`writableLength`). The publisher bounds it.
 */
function coalesceWrites(socket: Socket): void {
  const write = socket.write.bind(socket);
  const uncork = () => {
    socket.uncork();
  };
  socket.write = ((...chunk: Parameters<typeof write>) => {
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(uncork);
    }
    write(...chunk);
    return true;
  }) as typeof socket.write;
}
