export { Broadcasts } from './broadcasts.js';
/** @public No service consumes events yet; mail will be the first. */
export { EventHandler, type ReceivedEvent } from './event-handler.decorator.js';
export { EventPublisher } from './event.publisher.js';
export { InProcessTransport } from './in-process/in-process.transport.js';
export { MessagingModule } from './messaging.module.js';
export { RabbitTransport } from './rabbit/rabbit.transport.js';
export { RpcHandler } from './rpc-handler.decorator.js';
export { RpcClient } from './rpc.client.js';
export { type ServedOperators, serveOperators } from './socket/operator-socket.server.js';
export { OperatorSocket } from './socket/operator-socket.client.js';
export { type Requester, TRANSPORT, type Transport } from './transport.js';
