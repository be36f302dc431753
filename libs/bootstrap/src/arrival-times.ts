/**
 * For Fastify: a request must have arrived whole within 30 seconds, and whoever takes longer is noticed within five more. Node.js by itself
 * looks every 30 seconds only.
 */
export const ARRIVAL_TIMES = { requestTimeout: 30_000, http: { connectionsCheckingInterval: 5_000 } } as const;
