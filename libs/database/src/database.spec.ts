import { describe, expect, it } from 'vitest';
import { sqlSpan } from './database.js';

describe('the span of a statement', () => {
  it.each([
    ['SELECT 1', 'SELECT'],
    ['BEGIN', 'BEGIN'],
    ['SELECT id FROM accounts.users WHERE id = $1', 'SELECT accounts.users'],
    ['\n  UPDATE push.notifications AS n\n SET a = $1', 'UPDATE push.notifications'],
    ['WITH due AS (SELECT id FROM mail.deliveries) DELETE FROM mail.deliveries', 'WITH mail.deliveries'],
  ])('of %j is called %j', (sql, name) => {
    expect(sqlSpan(sql).name).toBe(name);
  });

  it('shows its text on one line, shortened', () => {
    expect(sqlSpan('SELECT id\n    FROM  accounts.users').attributes).toMatchObject({
      'db.query.text': 'SELECT id FROM accounts.users',
    });
    expect(String(sqlSpan(`SELECT ${'x'.repeat(5_000)}`).attributes?.['db.query.text'])).toHaveLength(1_000);
  });
});
