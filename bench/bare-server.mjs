// The limit that the benchmark compares with: Fastify and node-postgres doing the same statements, and nothing else.
import { createHash } from 'node:crypto';
import bcrypt from 'bcrypt';
import Fastify from 'fastify';
import pg from 'pg';

const { DATABASE_URL, PORT, APP_ID, TOKEN_HASH } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const fastify = Fastify();
const tokenHash = Buffer.from(TOKEN_HASH, 'hex');

const COLUMNS = `object_id AS "objectId", username, email, email_verified AS "emailVerified", mobile_phone_number AS "mobilePhoneNumber",
  mobile_phone_verified AS "mobilePhoneVerified", fields, created_at AS "createdAt", updated_at AS "updatedAt"`;

const present = ({ fields, ...user }) => ({ ...fields, ...user });

fastify.get('/1.1/users/me', async () => {
  const { rows } = await pool.query(
    `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND session_token_hash = $2`,
    [APP_ID, tokenHash],
  );
  return present(rows[0]);
});

fastify.get('/1.1/users/:id', async (request) => {
  const { rows } = await pool.query(`SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND object_id = $2`, [
    APP_ID,
    request.params.id,
  ]);
  return present(rows[0]);
});

fastify.put('/1.1/users/:id', async (request) => {
  const { rows } = await pool.query(
    'UPDATE accounts.users SET fields = fields || $3, updated_at = now() WHERE app_id = $1 AND object_id = $2 RETURNING updated_at AS "updatedAt"',
    [APP_ID, request.params.id, JSON.stringify(request.body)],
  );
  return rows[0];
});

fastify.post('/1.1/login', async (request) => {
  const { rows } = await pool.query(
    `SELECT ${COLUMNS}, password_hash FROM accounts.users WHERE app_id = $1 AND username = $2`,
    [APP_ID, request.body.username],
  );
  const { password_hash: stored, ...user } = rows[0];
  const digest = createHash('sha256').update(request.body.password).digest('base64');
  await bcrypt.compare(digest, stored.slice(stored.indexOf(':') + 1));
  return present(user);
});

await fastify.listen({ port: Number(PORT), host: '127.0.0.1' });
