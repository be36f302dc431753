export {
  NetworkGuard,
  type OutboundAnswer,
  OutboundClient,
  OutboundError,
  outboundReason,
  type OutboundRequest,
  type OutboundStream,
  withTimeLimit,
} from './outbound-client.js';
export { OutboundStreamError, OutboundStreams, type StreamedAnswer } from './outbound-streams.js';
