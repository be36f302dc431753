const REQUEST_TIMEOUT_MS = 30_000;
/** Node.js by itself looks every 30 seconds only. */
const CHECKING_INTERVAL_MS = 5_000;
/** Nothing goes over the connection for so long: longer than SDKs wait for the answer to a long batch. */
const IDLE_TIMEOUT_MS = 60_000;

/**
 * For Fastify: a request must have arrived whole within 30 seconds, and whoever takes longer is noticed within five more. The headers get no
 * other time: with Node's own 60 seconds for them, a body that never ends would have those 60. Who takes nothing of an answer is cut
 * off after one to two minutes.
 */
export const CONNECTION_TIMES = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionTimeout: IDLE_TIMEOUT_MS,
  http: { connectionsCheckingInterval: CHECKING_INTERVAL_MS, headersTimeout: REQUEST_TIMEOUT_MS },
} as const;
