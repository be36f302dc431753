// The targets of Gatepost compared with a tuned Parse Server, by case and requests in flight. `rate`: requests per second, as a multiple
// of its rate; `p50`: median time, at most this multiple of its median; `hashRate`: share of the machine's hash rate.
const ONE = { 1: { p50: 1 } };
const atOnce = (at32, at128) => ({ 32: { rate: at32 }, 128: { rate: at128 } });
const HASHING = { 1: { rate: 1 }, 32: { hashRate: 0.95, longestMs: 5_000 }, 128: { hashRate: 0.95, longestMs: 5_000 } };

const SERVICES = {
  me: { ...ONE, ...atOnce(2.5, 3) },
  get: { ...ONE, ...atOnce(1.8, 2.5) },
  put: { ...ONE, ...atOnce(3.5, 3.5) },
  'anonymous-signup': { ...ONE, ...atOnce(2.5, 2.5) },
  'query-username': { 1: { p50: 1.2 }, ...atOnce(2, 2) },
  'query-field': { 1: { p50: 1.5 }, ...atOnce(1.5, 1.5) },
  'query-field-indexed': { 1: { p50: 1.2 }, ...atOnce(1.5, 1.5) },
  login: HASHING,
  signup: HASHING,
};

const STANDALONE = { me: { 1: { rate: 2 }, ...atOnce(4, 4) } };

export const TARGETS = { services: SERVICES, standalone: STANDALONE };

/** Of all processes and servers together, for one `users/me` of the services, in milliseconds. */
export const MAX_ME_PROCESSOR_MS = 0.5;
