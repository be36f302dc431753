import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '#database';
import { unique, uniquePhone } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { MessageAllowancesRepository } from './message-allowances.repository.js';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

describe('the allowances of phone numbers in PostgreSQL', () => {
  const allowances = new MessageAllowancesRepository();
  let database: Database;
  let appId: string;
  let mobilePhoneNumber: string;

  const take = async (atMs: number, number = mobilePhoneNumber) => {
    const refusal = await database.transaction((tx) =>
      allowances.take(tx, { kind: 'sms', appId, recipient: number }, new Date(START + atMs)),
    );
    return refusal?.reason ?? 'taken';
  };

  beforeAll(async () => {
    ({ database } = await newAccountsDatabase(20));
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    [appId, mobilePhoneNumber] = [unique('app'), uniquePhone()];
    await storeApplication(database, appId);
  });

  it('allow one message in 10 seconds', async () => {
    expect(await take(0)).toBe('taken');
    expect(await take(9_999)).toBe('tooFast');
    expect(await take(10_000)).toBe('taken');
    expect(await take(0)).toBe('tooFast');
  });

  it('allow one of 20 at once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => take(0)));
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'tooFast')).toHaveLength(19);
    const later = await Promise.all(Array.from({ length: 20 }, () => take(10_000)));
    expect(later.filter((outcome) => outcome === 'taken')).toHaveLength(1);
  });

  it('allow 10 messages in any 24 hours', async () => {
    for (let message = 0; message < 10; message += 1) expect(await take(message * 60 * SECOND)).toBe('taken');
    expect(await take(10 * 60 * SECOND)).toBe('tooMany');
    expect(await take(DAY - 1)).toBe('tooMany');
    expect(await take(DAY)).toBe('taken');
    expect(await take(DAY + 10 * SECOND)).toBe('tooMany');
    expect(await take(DAY + 60 * SECOND)).toBe('taken');
  });

  it('are those of one number in one application', async () => {
    await take(0);
    expect(await take(0, uniquePhone())).toBe('taken');
    const first = appId;
    appId = await storeApplication(database);
    expect(await take(0)).toBe('taken');
    appId = first;
    expect(await take(0)).toBe('tooFast');
  });

  it('take back what a rolled-back transaction took', async () => {
    const rolledBack = database.transaction(async (tx) => {
      await allowances.take(tx, { kind: 'sms', appId, recipient: mobilePhoneNumber }, new Date(START));
      throw new Error('changed my mind');
    });
    await expect(rolledBack).rejects.toThrow('changed my mind');
    expect(await take(0)).toBe('taken');
  });

  it('of an application allow 5 of 20 numbers at once, until the window of the first message ends', async () => {
    const limit = { count: 5, windowSeconds: 60 };
    const takeAny = (atMs: number) =>
      database.transaction((tx) => allowances.takeOfApplication(tx, appId, limit, new Date(START + atMs)));
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => takeAny(0)));
    const endsAt = new Date(START + 60 * SECOND);
    expect(outcomes.filter((fullUntil) => fullUntil === undefined)).toHaveLength(5);
    expect(await takeAny(60 * SECOND - 1)).toEqual(endsAt);
    for (let message = 0; message < 5; message += 1) expect(await takeAny(60 * SECOND)).toBeUndefined();
    expect(await takeAny(60 * SECOND)).toEqual(new Date(START + 120 * SECOND));
  });

  it('count nothing that a clock a day ahead has noted', async () => {
    const takeAny = (atMs: number) =>
      database.transaction((tx) =>
        allowances.takeOfApplication(tx, appId, { count: 2, windowSeconds: 60 }, new Date(START + atMs)),
      );
    expect([await take(DAY), await takeAny(DAY), await takeAny(DAY)]).toEqual(['taken', undefined, undefined]);
    expect([await take(0), await takeAny(0), await takeAny(0)]).toEqual(['taken', undefined, undefined]);
    expect([await take(9_999), await takeAny(59_999)]).toEqual(['tooFast', new Date(START + 60 * SECOND)]);
    // Clocks of replicas differ by seconds.
    expect([await take(-3 * SECOND), await takeAny(-3 * SECOND)]).toEqual(['tooFast', new Date(START + 60 * SECOND)]);
  });

  it('are forgotten a day after the last message', async () => {
    const remembered = async () =>
      (await database.query('SELECT 1 FROM accounts.sms_allowances WHERE app_id = $1', [appId])).length;
    await take(0);
    await database.transaction((tx) => allowances.removeExpired(tx, 'sms', new Date(START + DAY - 1)));
    expect(await remembered()).toBe(1);
    for (let run = 0; run < 5; run += 1) {
      await database.transaction((tx) => allowances.removeExpired(tx, 'sms', new Date(START + DAY)));
    }
    expect(await remembered()).toBe(0);
  });
});
