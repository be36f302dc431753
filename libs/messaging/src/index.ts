export { directMessageHandler, EventHandler, type ReceivedEvent, RpcHandler } from './handlers.js';
export { InProcessTransport } from './in-process.transport.js';
export { Broadcasts, MessagingModule, DirectMessages, RpcClient } from './messaging.module.js';
export { OperatorSocket, type ServedOperators, serveOperators } from './operator-socket.js';
export { BrokerQueues, type DeadLetter, DeadLetters } from './rabbit/operator-queues.js';
export { RabbitTransport } from './rabbit/rabbit.transport.js';
export {
  forward,
  type Forwarded,
  listReply,
  MAX_MESSAGE_BYTES,
  RefusedEvent,
  type MaybeEncoded,
  type RpcTransport,
  TRANSPORT,
  type Transport,
} from './transport.js';
