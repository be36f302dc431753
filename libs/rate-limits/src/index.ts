export { clientAddressOf } from './client-address.js';
export { clientNetworkOf } from './client-network.js';
export { MemoryRequestCounter } from './memory-request-counter.js';
export { parseRateLimit, type RateLimit } from './rate-limit.js';
export type { RequestCount, RequestCounter } from './request-counter.js';
