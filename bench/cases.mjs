// The requests of each case, and the contestants that it measures. `requests` generates the requests of a contestant's connections, in
// turn; `beside` names the case that is measured beside it in every round, in place of the bare server. `index` names the custom field
// for which an operator has created an index.
import { randomBytes } from 'node:crypto';

const BOTH = ['services', 'standalone'];
const ALL = ['bare', ...BOTH];

/** Seconds for which requests that hash are measured at the least: at 128 in flight the first answers come after four. */
const HASHING_SECONDS = 10;

/** Accounts on an unverified platform: the first request of each signs a user up. */
const IDENTITIES = Array.from({ length: 64 }, (_, index) => ({
  github: { uid: `bench${index}`, access_token: randomBytes(20).toString('hex') },
}));

/** A query of the master key over all seeded users, one at a time: how long one takes is the question. */
function queryCase(params) {
  const search = new URLSearchParams(params);
  return {
    connections: 1,
    entrants: BOTH,
    target: {},
    maxP50Ms: 9,
    requests: ({ masterHeaders }) => [{ path: `/1.1/users?${search}`, headers: masterHeaders }],
  };
}

export const CASES = {
  me: {
    connections: 32,
    entrants: ALL,
    target: { services: 1 / 3, standalone: 1 / 2 },
    requests: ({ users }) => users.map(({ headers }) => ({ path: '/1.1/users/me', headers })),
  },
  get: {
    connections: 32,
    entrants: ALL,
    target: { services: 1 / 3, standalone: 1 / 2 },
    requests: ({ users }) => users.map(({ objectId, headers }) => ({ path: `/1.1/users/${objectId}`, headers })),
  },
  put: {
    connections: 32,
    entrants: ALL,
    target: {},
    requests: ({ users }) =>
      users.map(({ objectId, headers }) => ({
        path: `/1.1/users/${objectId}`,
        method: 'PUT',
        headers,
        body: { level: 7 },
      })),
  },
  'anonymous-signup': {
    connections: 32,
    entrants: ALL,
    target: {},
    requests: ({ headers }) => [
      { path: '/1.1/users', method: 'POST', headers, body: { authData: { anonymous: { id: '[<id>]' } } } },
    ],
  },
  'identity-login': {
    connections: 32,
    entrants: BOTH,
    beside: 'me',
    target: { services: 1 / 2 },
    requests: ({ headers }) =>
      IDENTITIES.map((authData) => ({ path: '/1.1/users', method: 'POST', headers, body: { authData } })),
  },
  'query-username': queryCase({ where: '{"username":"bulk77777"}' }),
  'query-field': queryCase({ where: '{"number":77777}' }),
  'query-field-indexed': { ...queryCase({ where: '{"number":77777}' }), index: 'number' },
  'query-newest': queryCase({ order: '-createdAt', limit: '20' }),
  login: {
    connections: 16,
    entrants: ALL,
    target: {},
    watchesLag: true,
    leastSeconds: HASHING_SECONDS,
    requests: ({ passwordUsers, headers }) =>
      passwordUsers.map(({ username, password }) => ({
        path: '/1.1/login',
        method: 'POST',
        headers,
        body: { username, password },
      })),
  },
  signup: {
    connections: 16,
    entrants: ALL,
    target: {},
    watchesLag: true,
    leastSeconds: HASHING_SECONDS,
    requests: ({ headers }) => [
      { path: '/1.1/users', method: 'POST', headers, body: { username: 'bench-[<id>]', password: 'correct horse' } },
    ],
  },
};
