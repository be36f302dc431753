import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { environment } from './environment.js';
import { ConfigError, loadConfig } from './run.js';

const schema = environment.pick({
  GATEPOST_PORT: true,
  GATEPOST_SECRET: true,
  GATEPOST_BASE_URL: true,
  DATABASE_URL: true,
  REDIS_URL: true,
  AMQP_URL: true,
  GATEPOST_RATE_LIMIT_LOGINS: true,
  GATEPOST_TRUSTED_PROXIES: true,
});
const SECRET = 'a secret of more than thirty-two characters';

function problemsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(schema, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('loadConfig', () => {
  it('uses defaults for unset variables, and treats an empty value as unset', () => {
    const config = loadConfig(schema, { GATEPOST_PORT: '', GATEPOST_SECRET: '' });
    expect(config.GATEPOST_PORT).toBe(8080);
    expect(config.GATEPOST_SECRET).toBeUndefined();
    expect(config.DATABASE_URL).toBe('postgres://postgres:postgres@localhost:5432/postgres');
  });

  it('parses numbers, and removes the slash at the end of URLs', () => {
    const config = loadConfig(schema, { GATEPOST_PORT: '0', GATEPOST_BASE_URL: 'https://api.example.com/' });
    expect([config.GATEPOST_PORT, config.GATEPOST_BASE_URL]).toEqual([0, 'https://api.example.com']);
  });

  it('parses lists', () => {
    const given = 'loopback, 10.0.0.0/8 ,fd00::/8';
    expect(loadConfig(schema, { GATEPOST_TRUSTED_PROXIES: given }).GATEPOST_TRUSTED_PROXIES).toEqual([
      'loopback',
      '10.0.0.0/8',
      'fd00::/8',
    ]);
    expect(loadConfig(schema, {}).GATEPOST_TRUSTED_PROXIES).toEqual([]);
  });

  it('returns a frozen object', () => {
    expect(Object.isFrozen(loadConfig(schema, {}))).toBe(true);
  });

  it.each([
    ['GATEPOST_PORT', '65536'],
    ['GATEPOST_PORT', '-1'],
    ['GATEPOST_PORT', '80a'],
    ['GATEPOST_PORT', '1e3'],
    ['GATEPOST_SECRET', 'too short'],
    ['GATEPOST_BASE_URL', 'ftp://example.com'],
    ['GATEPOST_BASE_URL', 'api.example.net'],
    ['DATABASE_URL', 'mysql://localhost/db'],
    ['DATABASE_URL', 'postgres://user:50%ff@localhost/db'],
    ['REDIS_URL', 'redis://:50%off@localhost'],
    ['AMQP_URL', 'localhost:5672'],
    ['GATEPOST_RATE_LIMIT_LOGINS', '77'],
    ['GATEPOST_RATE_LIMIT_LOGINS', '0/60'],
    ['GATEPOST_RATE_LIMIT_LOGINS', '60/0'],
    ['GATEPOST_RATE_LIMIT_LOGINS', '60/minute'],
    ['GATEPOST_RATE_LIMIT_LOGINS', 'none'],
    ['GATEPOST_TRUSTED_PROXIES', '10.0.0.1,proxy.example'],
    ['GATEPOST_TRUSTED_PROXIES', '10.0.0.1,,10.0.0.2'],
  ])('rejects %s=%s by name, never by value', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name}: `));
    expect(problems[0]).not.toContain(value);
  });

  it.each([
    ['GATEPOST_PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['GATEPOST_PASSWORD_COST', '3', 'must be a whole number from 4 to 15'],
    ['GATEPOST_LOG_LEVEL', 'verbose', 'must be debug or info or warn or error'],
    ['GATEPOST_CONSOLE_PASSWORDS', 'no', 'must be on or off'],
    ['GATEPOST_PUSH_VENDOR_URLS', 'apns', 'must be pairs such as name=https://host'],
    ['GATEPOST_SECRET', '', 'must be set, as deploy/env.example describes'],
  ])('says what %s may be instead of "%s"', (name, value, problem) => {
    const required = environment.required({ GATEPOST_SECRET: true });
    const env = { GATEPOST_SECRET: SECRET, [name]: value };
    expect(() => loadConfig(required, env)).toThrow(`The environment has a problem:\n  ${name}: ${problem}`);
  });

  it('lists all problems in one message', () => {
    const env = { GATEPOST_PORT: 'x', GATEPOST_SECRET: 'short', GATEPOST_PROT: '1', DATABASE_URL: 'nowhere' };
    expect(
      problemsOf(env)
        .map((problem) => problem.split(':')[0])
        .sort(),
    ).toEqual(['DATABASE_URL', 'GATEPOST_PORT', 'GATEPOST_PROT', 'GATEPOST_SECRET']);
    expect(() => loadConfig(schema, env)).toThrow(/^The environment has 4 problems:\n/);
  });

  it('rejects unknown variables with the prefix, and ignores others', () => {
    expect(problemsOf({ GATEPOST_PASWORD_COST: '10', OTHER: 'x' })).toEqual([
      'GATEPOST_PASWORD_COST: unknown variable (a typing error?)',
    ]);
  });

  it('ignores variables of other apps', () => {
    expect(problemsOf({ GATEPOST_DRAIN_SECONDS: '5' })).toEqual([]);
  });

  it('requires the server URLs in production', () => {
    expect(problemsOf({ NODE_ENV: 'production' })).toEqual([
      'DATABASE_URL: must be set in production',
      'REDIS_URL: must be set in production',
      'AMQP_URL: must be set in production',
    ]);
  });
});

describe('a secret', () => {
  const { GATEPOST_SECRET: secret } = loadConfig(schema, { GATEPOST_SECRET: SECRET });

  it('appears as *** in texts, JSON and inspection; only reveal returns it', () => {
    expect([String(secret), JSON.stringify({ secret }), inspect({ secret })].join(' ')).not.toContain('secret of');
    expect(String(secret)).toBe('***');
    expect(secret?.reveal()).toBe(SECRET);
  });
});

describe('accepted secrets', () => {
  it('are accepted with and without surrounding blanks, which may belong to them', () => {
    const own = `${'x'.repeat(32)}\n`;
    const { GATEPOST_ACCEPTED_SECRETS: accepted } = loadConfig(environment.pick({ GATEPOST_ACCEPTED_SECRETS: true }), {
      GATEPOST_ACCEPTED_SECRETS: `${SECRET},${own}`,
    });
    expect(accepted.map((one) => one.reveal())).toEqual([SECRET, own.trim(), own]);
  });
});

describe('the environment', () => {
  it('describes every variable', () => {
    for (const [name, field] of Object.entries(environment.shape))
      expect([name, field.description ?? '']).not.toEqual([name, '']);
  });
});
