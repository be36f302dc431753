// What is asked, and of whom. `request` makes autocannon's options for a contestant; `beside` names the case that it is compared
// with in every round, in place of the bare server.
const BOTH = ['services', 'standalone'];

/** A query of the master key over all seeded users, one at a time: how long one takes is the question. */
function queryCase(params) {
  const search = new URLSearchParams(params);
  return {
    connections: 1,
    entrants: BOTH,
    target: {},
    maxP50Ms: 9,
    request: ({ masterHeaders }) => ({ path: `/1.1/users?${search}`, headers: masterHeaders }),
  };
}

export const CASES = {
  me: {
    connections: 32,
    entrants: ['bare', ...BOTH],
    target: { services: 1 / 3, standalone: 1 / 2 },
    request: () => ({ path: '/1.1/users/me' }),
  },
  get: {
    connections: 32,
    entrants: ['bare', ...BOTH],
    target: { services: 1 / 3, standalone: 1 / 2 },
    request: ({ user }) => ({ path: `/1.1/users/${user.objectId}` }),
  },
  put: {
    connections: 32,
    entrants: ['bare', ...BOTH],
    target: {},
    request: ({ user }) => ({ path: `/1.1/users/${user.objectId}`, method: 'PUT', body: { level: 7 } }),
  },
  'identity-login': {
    connections: 32,
    entrants: BOTH,
    beside: 'me',
    target: { services: 1 / 2 },
    request: ({ identities }) => ({
      requests: identities.map((authData) => ({ path: '/1.1/users', method: 'POST', body: { authData } })),
    }),
  },
  'query-username': queryCase({ where: '{"username":"bulk77777"}' }),
  'query-field': queryCase({ where: '{"number":77777}' }),
  'query-newest': queryCase({ order: '-createdAt', limit: '20' }),
  login: {
    connections: 16,
    entrants: ['bare', ...BOTH],
    target: {},
    watchesLag: true,
    request: ({ user }) => ({
      path: '/1.1/login',
      method: 'POST',
      body: { username: user.username, password: user.password },
    }),
  },
  signup: {
    connections: 16,
    entrants: BOTH,
    target: {},
    watchesLag: true,
    request: () => ({
      path: '/1.1/users',
      method: 'POST',
      body: { username: 'bench-[<id>]', password: 'correct horse' },
    }),
  },
};
