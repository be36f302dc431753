export {
  FAILED_CREDENTIAL_LIMIT_OPTIONS,
  FailedCredentialLimit,
  type FailedCredentialLimitOptions,
  MemoryRequestCounter,
  parseRateLimit,
  type RateLimit,
  type RequestCount,
  type RequestCounter,
} from './rate-limits.js';
export { ApplicationDirectory, clientAddressOf, clientNetworkOf } from './request-origin.js';
