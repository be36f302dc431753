// The limit that the benchmark compares with: Fastify and node-postgres doing the same statements, and nothing else.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import bcrypt from 'bcrypt';
import Fastify from 'fastify';
import pg from 'pg';

const { DATABASE_URL, PORT, APP_ID, LOOKUP_KEY } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const fastify = Fastify();
const BCRYPT_COST = 10;
const lookupKey = Buffer.from(LOOKUP_KEY, 'hex');

/** The service's own columns and look-ups, prepared as there. */
const COLUMNS = `
  object_id AS "objectId", username, email, email_verified AS "emailVerified",
  mobile_phone_number AS "mobilePhoneNumber", mobile_phone_verified AS "mobilePhoneVerified",
  password_hash AS "passwordHash", session_token_hash AS "sessionTokenHash", sealed_session_token AS "sealedSessionToken",
  acl, fields, created_at AS "createdAt", updated_at AS "updatedAt"`;

async function find(name, column, value) {
  const text = `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND ${column} = $2`;
  const { rows } = await pool.query({ name, text, values: [APP_ID, value] });
  return rows[0];
}

const present = ({ fields, passwordHash, sessionTokenHash, sealedSessionToken, acl, ...user }) => ({
  ...fields,
  ...user,
});

const tokenHash = (token) => createHmac('sha256', lookupKey).update(token).digest();

fastify.get('/1.1/users/me', async ({ headers }) =>
  present(await find('me', 'session_token_hash', tokenHash(headers['x-lc-session']))),
);

fastify.get('/1.1/users/:id', async (request) => present(await find('get', 'object_id', request.params.id)));

// One statement where the service needs two: it reads the user to check the session and to apply the changes.
fastify.put('/1.1/users/:id', async (request) => {
  const { rows } = await pool.query({
    name: 'put',
    text: 'UPDATE accounts.users SET fields = fields || $3, updated_at = now() WHERE app_id = $1 AND object_id = $2 RETURNING updated_at AS "updatedAt"',
    values: [APP_ID, request.params.id, JSON.stringify(request.body)],
  });
  return rows[0];
});

// A user in one statement, with a platform account or a password, and with a session token that cannot be opened.
fastify.post('/1.1/users', async (request, reply) => {
  const { username, password, authData } = request.body;
  const [objectId, sessionToken] = [randomBytes(12).toString('hex'), randomBytes(16).toString('hex')];
  const hash = password === undefined ? null : await bcrypt.hash(password, BCRYPT_COST);
  const { rows } = await pool.query({
    name: 'signup',
    text: `WITH added AS (
             INSERT INTO accounts.users (app_id, object_id, username, password_hash, session_token_hash, sealed_session_token, created_at, updated_at)
             VALUES ($1, $2, $6, $7, $3, $4, now(), now()) RETURNING app_id, object_id, created_at),
           linked AS (
             INSERT INTO accounts.identities (app_id, user_id, platform, uid, is_verified)
             SELECT app_id, object_id, 'anonymous', $5, false FROM added WHERE $5::text IS NOT NULL)
           SELECT created_at AS "createdAt" FROM added`,
    values: [
      APP_ID,
      objectId,
      tokenHash(sessionToken),
      sessionToken,
      authData?.anonymous.id,
      username ?? objectId,
      hash,
    ],
  });
  return reply.code(201).send({ objectId, sessionToken, ...rows[0] });
});

// Users by one field: a column of their own, or one of the application's.
fastify.get('/1.1/users', async (request) => {
  const where = JSON.parse(request.query.where);
  if (where.username !== undefined) return { results: [present(await find('query', 'username', where.username))] };
  // Without a name: a plan for the value itself uses the index.
  const { rows } = await pool.query(
    `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND fields @> $2 ORDER BY object_id LIMIT 100`,
    [APP_ID, JSON.stringify(where)],
  );
  return { results: rows.map(present) };
});

fastify.post('/1.1/login', async (request) => {
  const user = await find('login', 'username', request.body.username);
  const digest = createHash('sha256').update(request.body.password).digest('base64');
  await bcrypt.compare(digest, user.passwordHash.slice(user.passwordHash.indexOf(':') + 1));
  return present(user);
});

await fastify.listen({ port: Number(PORT), host: '127.0.0.1' });
