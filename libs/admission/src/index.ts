export { ApplicationDirectory } from './application.directory.js';
export { clientAddressOf, clientNetworkOf } from './client-network.js';
export {
  MemoryRequestCounter,
  parseRateLimit,
  type RateLimit,
  type RequestCount,
  type RequestCounter,
} from './request-counter.js';
export {
  FAILED_CREDENTIAL_LIMIT_OPTIONS,
  FailedCredentialLimit,
  type FailedCredentialLimitOptions,
} from './failed-credential-limit.js';
