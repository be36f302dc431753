export { ApplicationDirectory } from './application.directory.js';
export { clientAddressOf, clientNetworkOf } from './client-network.js';
export {
  MemoryRequestCounter,
  parseRateLimit,
  type RateLimit,
  type RequestCount,
  type RequestCounter,
} from './request-counter.js';
export { STRANGER_LIMIT_OPTIONS, StrangerLimit, type StrangerLimitOptions } from './stranger-limit.js';
