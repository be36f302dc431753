export { type OutboundAnswer, OutboundClient, OutboundError, type OutboundRequest } from './outbound-client.js';
