import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '#database';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { MessageAllowancesRepository } from './message-allowances.repository.js';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const tooFast = (retryAfterSeconds: number) => ({ reason: 'tooFast', retryAfterSeconds });
const tooMany = (retryAfterSeconds: number) => ({ reason: 'tooMany', retryAfterSeconds });

describe('the allowances of mailboxes in PostgreSQL', () => {
  const allowances = new MessageAllowancesRepository();
  let database: Database;
  let appId: string;

  const take = (atMs: number) =>
    database.transaction((tx) =>
      allowances.take(tx, { kind: 'mail', appId, recipient: 'ada@example.com' }, new Date(START + atMs)),
    );

  beforeAll(async () => {
    ({ database } = await newAccountsDatabase(20));
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    appId = await storeApplication(database);
  });

  it('allow 5 mails in any 10 minutes', async () => {
    for (let mail = 0; mail < 5; mail += 1) expect(await take(mail)).toBeUndefined();
    expect(await take(5)).toEqual(tooFast(600));
    // The clocks of processes differ.
    expect(await take(-1_000)).toEqual(tooFast(600));
    expect(await take(10 * MINUTE - 1)).toEqual(tooFast(1));
    expect(await take(10 * MINUTE)).toBeUndefined();
    expect(await take(10 * MINUTE)).toEqual(tooFast(1));
    expect(await take(10 * MINUTE + 1)).toBeUndefined();
  });

  it('allow 5 of 20 at once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => take(0)));
    expect(outcomes.filter((refusal) => refusal === undefined)).toHaveLength(5);
    expect(outcomes.filter((refusal) => refusal?.reason === 'tooFast')).toHaveLength(15);
  });

  it('allow 20 mails in any 24 hours', async () => {
    for (let mail = 0; mail < 20; mail += 1) expect(await take(mail * 5 * MINUTE)).toBeUndefined();
    expect(await take(20 * 5 * MINUTE)).toEqual(tooMany(80_400));
    expect(await take(DAY - 1)).toEqual(tooMany(1));
    expect(await take(DAY)).toBeUndefined();
    expect(await take(DAY)).toEqual(tooMany(300));
  });

  it('name the end of the longer window where both are full', async () => {
    for (let mail = 0; mail < 20; mail += 1) expect(await take(Math.floor(mail / 5) * 10 * MINUTE)).toBeUndefined();
    expect(await take(30 * MINUTE)).toEqual(tooMany(84_600));
  });
});
