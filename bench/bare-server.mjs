// The limit that the benchmark compares with: Fastify and node-postgres doing the same statements, and nothing else.
import { createHash } from 'node:crypto';
import bcrypt from 'bcrypt';
import Fastify from 'fastify';
import pg from 'pg';

const { DATABASE_URL, PORT, APP_ID, TOKEN_HASH } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const fastify = Fastify();
const tokenHash = Buffer.from(TOKEN_HASH, 'hex');

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

fastify.get('/1.1/users/me', async () => present(await find('me', 'session_token_hash', tokenHash)));

fastify.get('/1.1/users/:id', async (request) => present(await find('get', 'object_id', request.params.id)));

// One statement where the service needs four: it locks the user, judges the session and applies the changes.
fastify.put('/1.1/users/:id', async (request) => {
  const { rows } = await pool.query(
    'UPDATE accounts.users SET fields = fields || $3, updated_at = now() WHERE app_id = $1 AND object_id = $2 RETURNING updated_at AS "updatedAt"',
    [APP_ID, request.params.id, JSON.stringify(request.body)],
  );
  return rows[0];
});

fastify.post('/1.1/login', async (request) => {
  const user = await find('login', 'username', request.body.username);
  const digest = createHash('sha256').update(request.body.password).digest('base64');
  await bcrypt.compare(digest, user.passwordHash.slice(user.passwordHash.indexOf(':') + 1));
  return present(user);
});

await fastify.listen({ port: Number(PORT), host: '127.0.0.1' });
