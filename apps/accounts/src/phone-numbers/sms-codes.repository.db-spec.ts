import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '#database';
import { uniquePhone } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { type SmsCodeKey, type SmsCodeRow, SmsCodesRepository } from './sms-codes.repository.js';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const END = new Date('2026-01-01T00:10:00.000Z');
/** One per accepted secret: one. */
const hash = (): readonly Buffer[] => [randomBytes(32)];
const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

describe('codes in PostgreSQL', () => {
  let database: Database;
  let codes: SmsCodesRepository;
  let key: SmsCodeKey;
  let code: readonly Buffer[];

  const put = (row: Partial<SmsCodeRow> = {}, now = NOW) =>
    database.transaction((tx) => codes.put(tx, { ...key, hashes: code, expiresAt: END, ...row }, now));
  const redeem = (of: SmsCodeKey = key, with_ = code, now = NOW) =>
    database.transaction((tx) => codes.redeem(tx, of, with_, now));

  beforeAll(async () => {
    ({ database } = await newAccountsDatabase(20));
    codes = new SmsCodesRepository(database);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    const appId = await storeApplication(database);
    key = { appId, purpose: 'login', mobilePhoneNumber: uniquePhone() };
    code = hash();
    await put();
  });

  it('are used once, also by 20 at once', async () => {
    const outcomes = await times(20, () => redeem());
    expect(outcomes.filter((isRedeemed) => isRedeemed)).toHaveLength(1);
    expect([await redeem(), await codes.guess(key, code, NOW)]).toEqual([false, false]);
  });

  it('stay where the transaction that uses them is rolled back', async () => {
    const rolledBack = database.transaction(async (tx) => {
      await codes.redeem(tx, key, code, NOW);
      throw new Error('changed my mind');
    });
    await expect(rolledBack).rejects.toThrow('changed my mind');
    expect(await redeem()).toBe(true);
  });

  it('are right for their key alone', async () => {
    const others: SmsCodeKey[] = [
      { ...key, appId: 'another' },
      { ...key, purpose: 'reset' },
      { ...key, mobilePhoneNumber: '+8613800000000' },
      { ...key, userId: 'another' },
    ];
    for (const other of others)
      expect([await codes.guess(other, code, NOW), await redeem(other)]).toEqual([false, false]);
    expect([await codes.guess(key, code, NOW), await redeem()]).toEqual([true, true]);
  });

  it('of one user for a number leave those of another alone', async () => {
    const [one, other] = [hash(), hash()];
    await put({ purpose: 'change', userId: 'one', hashes: one });
    await put({ purpose: 'change', userId: 'other', hashes: other });
    expect(await redeem({ ...key, purpose: 'change', userId: 'one' }, one)).toBe(true);
    expect(await redeem({ ...key, purpose: 'change', userId: 'other' }, other)).toBe(true);
  });

  it('are dead from their end on', async () => {
    expect(await codes.guess(key, code, new Date(END.getTime() - 1))).toBe(true);
    expect(await codes.guess(key, code, END)).toBe(false);
    expect(await redeem(key, code, END)).toBe(false);
  });

  it('are dead after the fifth wrong guess, and right ones do not count', async () => {
    for (let guess = 0; guess < 4; guess += 1) {
      expect(await codes.guess(key, hash(), NOW)).toBe(false);
      expect(await codes.guess(key, code, NOW)).toBe(true);
    }
    expect(await codes.guess(key, hash(), NOW)).toBe(false);
    expect([await codes.guess(key, code, NOW), await redeem()]).toEqual([false, false]);
  });

  it('are dead after 20 wrong guesses at once, of which five were counted', async () => {
    await times(20, () => codes.guess(key, hash(), NOW));
    expect(await redeem()).toBe(false);
    const [row] = await database.query<{ wrong: number }>(
      'SELECT wrong_guesses AS wrong FROM accounts.sms_codes WHERE app_id = $1',
      [key.appId],
    );
    expect(row?.wrong).toBe(5);
  });

  it('are replaced by new ones without wrong guesses', async () => {
    await times(5, () => codes.guess(key, hash(), NOW));
    const next = hash();
    await put({ hashes: next });
    expect(await redeem(key, code)).toBe(false);
    expect(await redeem(key, next)).toBe(true);
  });

  it('are compared with each possible hash: that of another secret is not a wrong guess', async () => {
    const [another = Buffer.of()] = hash();
    await times(5, () => codes.guess(key, [another, ...code], NOW));
    expect(await redeem(key, [another, ...code])).toBe(true);
    await put();
    await times(5, () => codes.guess(key, hash(), NOW));
    await put({ hashes: [another, ...code] });
    expect(await redeem(key, [another, ...code])).toBe(false);
  });

  it('that come once more keep their wrong guesses, and are good again only after the end of the dead one', async () => {
    const later = new Date(END.getTime() + 600_000);
    await times(4, () => codes.guess(key, hash(), NOW));
    await put();
    expect(await codes.guess(key, code, NOW)).toBe(true);
    await codes.guess(key, hash(), NOW);
    await put({ expiresAt: later });
    expect([await codes.guess(key, code, NOW), await redeem(), await codes.guess(key, code, END)]).toEqual([
      false,
      false,
      false,
    ]);
    await put({ expiresAt: later }, END);
    expect(await redeem(key, code, END)).toBe(true);
  });

  it('go away some time after their end', async () => {
    const appId = key.appId;
    const count = async () =>
      Number(
        (
          await database.query<{ count: string }>('SELECT count(*) FROM accounts.sms_codes WHERE app_id = $1', [appId])
        )[0]?.count,
      );
    const later = { ...key, mobilePhoneNumber: uniquePhone(), expiresAt: new Date(END.getTime() + 1) };
    await put(later);
    expect(await count()).toBe(2);
    await times(5, () => database.transaction((tx) => codes.removeExpired(tx, END)));
    expect(await count()).toBe(1);
  });

  describe('that come without their number', () => {
    let numberless: readonly Buffer[];
    const guessNumber = (given: readonly Buffer[], now = NOW) =>
      database.transaction((tx) => codes.guessNumber(tx, { appId: key.appId, purpose: 'verify' }, given, now));
    const wrongGuesses = async () => {
      const sql = 'SELECT wrong FROM accounts.sms_numberless_guesses WHERE app_id = $1';
      return Number((await database.query<{ wrong: string }>(sql, [key.appId]))[0]?.wrong);
    };

    beforeEach(async () => {
      numberless = hash();
      key = { ...key, purpose: 'verify' };
      await put({ numberlessHash: numberless[0] });
    });

    it('say their number', async () => {
      expect(await guessNumber(numberless)).toBe(key.mobilePhoneNumber);
      expect(await guessNumber(numberless)).toBe(key.mobilePhoneNumber);
      expect(await wrongGuesses()).toBe(0);
    });

    it('say nothing where two numbers have the same code, which counts as a wrong guess', async () => {
      await put({ mobilePhoneNumber: uniquePhone(), numberlessHash: numberless[0] });
      expect([await guessNumber(numberless), await wrongGuesses()]).toEqual([undefined, 1]);
    });

    it('say nothing after their end, after their last guess, for another purpose and in another application', async () => {
      expect(await guessNumber(numberless, END)).toBeUndefined();
      await database.transaction(async (tx) => {
        expect(await codes.guessNumber(tx, { ...key, purpose: 'reset' }, numberless, NOW)).toBeUndefined();
        expect(await codes.guessNumber(tx, { ...key, appId: 'another' }, numberless, NOW)).toBeUndefined();
      });
      await times(5, () => codes.guess(key, hash(), NOW));
      expect(await guessNumber(numberless)).toBeUndefined();
    });

    it('need their number after ten wrong guesses in the application, also where 50 come at once', async () => {
      const outcomes = await times(50, () => guessNumber(hash()));
      expect(outcomes.every((number) => number === undefined)).toBe(true);
      expect([await guessNumber(numberless), await wrongGuesses()]).toEqual([undefined, 10]);
      expect(await redeem()).toBe(true);
    });

    it('that were sent after the guesses can be guessed at again, the older ones not', async () => {
      await times(10, () => guessNumber(hash()));
      const [fresh, mobilePhoneNumber] = [hash(), uniquePhone()];
      await put({ mobilePhoneNumber, numberlessHash: fresh[0] });
      expect([await guessNumber(fresh), await guessNumber(numberless)]).toEqual([mobilePhoneNumber, undefined]);
    });

    it('that come once more gain no further guesses', async () => {
      await times(10, () => guessNumber(hash()));
      await put({ numberlessHash: numberless[0] });
      expect(await guessNumber(numberless)).toBeUndefined();
    });

    it('cannot be found where none was ever requested', async () => {
      await database.query('DELETE FROM accounts.sms_numberless_guesses WHERE app_id = $1', [key.appId]);
      expect(await guessNumber(numberless)).toBeUndefined();
    });
  });
});
