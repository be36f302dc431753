const REQUEST_TIMEOUT_MS = 30_000;
/** Node.js by itself looks every 30 seconds only. */
const CHECKING_INTERVAL_MS = 5_000;

/**
 * For Fastify: a request must have arrived whole within 30 seconds, and whoever takes longer is noticed within five more. The headers get no
 * other time: with Node's own 60 seconds for them, a body that never ends would have those 60.
 */
export const ARRIVAL_TIMES = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  http: { connectionsCheckingInterval: CHECKING_INTERVAL_MS, headersTimeout: REQUEST_TIMEOUT_MS },
} as const;
