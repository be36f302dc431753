import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { applicationSettings, type EventContract, sealedCodeContext, type TextMessageRequest } from '#contracts';
import type { Database, Outbox, Tx } from '#database';
import { Sealer } from '#security';
import { uniquePhone } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import type { ApplicationsService } from '../applications/applications.service.js';
import { MessageAllowancesRepository } from '../messages/message-allowances.repository.js';
import type { UserTransactions } from '../users/user-transactions.js';
import { type SmsCodeKey, SmsCodesRepository } from './sms-codes.repository.js';
import { SmsCodesService } from './sms-codes.service.js';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const PAUSE_MS = 10_000;
const LIMIT = 12;

describe('codes in text messages', () => {
  const sealer = new Sealer('a secret of thirty-two characters, or more');
  let database: Database;
  let now: Date;
  let testPhones: Record<string, string>;
  let sent: TextMessageRequest[];
  let decoys: TextMessageRequest[];
  let problem: Error | undefined;
  let codes: SmsCodesService;
  let key: SmsCodeKey;

  beforeAll(async () => {
    ({ database } = await newAccountsDatabase(5));
    const clock = { now: () => now };
    const applications = {
      settingsOf: () => Promise.resolve(applicationSettings.parse({ testPhones })),
      profileOf: () => Promise.resolve({ name: 'Shop' }),
    } as unknown as ApplicationsService;
    const outbox = {
      add: (_: Tx, contract: EventContract, payload: TextMessageRequest) => {
        if (problem !== undefined) return Promise.reject(problem);
        sent.push(contract.payload.parse(payload) as TextMessageRequest);
        return Promise.resolve();
      },
      addDecoy: (_: Tx, contract: EventContract, payload: TextMessageRequest) => {
        decoys.push(contract.payload.parse(payload) as TextMessageRequest);
        return Promise.resolve();
      },
    } as unknown as Outbox;
    codes = new SmsCodesService(
      new SmsCodesRepository(database),
      new MessageAllowancesRepository(),
      applications,
      database,
      outbox,
      sealer,
      clock,
      {} as UserTransactions,
      { textMessageLimit: { count: LIMIT, windowSeconds: 3_600 } },
    );
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    const appId = await storeApplication(database);
    [now, testPhones, sent, decoys, problem] = [new Date(START), {}, [], [], undefined];
    key = { appId, purpose: 'login', mobilePhoneNumber: uniquePhone() };
  });

  const request = () => ({ key, ttlMinutes: 5, requestId: 'request-1' });
  const send = () => codes.send(request());
  const codeOf = (request: TextMessageRequest | undefined) =>
    sealer.open(request?.sealedCode ?? '', sealedCodeContext(key));

  it('publishes the whole message, with the code sealed', async () => {
    await send();
    const code = codeOf(sent[0]);
    expect(sent).toEqual([
      {
        appId: key.appId,
        mobilePhoneNumber: key.mobilePhoneNumber,
        purpose: 'login',
        ttlMinutes: 5,
        expiresAt: '2026-01-01T00:05:00.000Z',
        smsType: 'sms',
        name: 'Shop',
        sealedCode: sent[0]?.sealedCode,
      },
    ]);
    expect(JSON.stringify(sent)).not.toContain(code);
    expect(await codes.guess(key, code)).toBe(true);
    now = new Date(START + 5 * 60_000);
    expect(await codes.guess(key, code)).toBe(false);
  });

  it('sends ten messages to a number in a day, the eleventh is SMS_TOO_FREQUENT', async () => {
    for (let message = 0; message < 10; message += 1) {
      now = new Date(START + message * PAUSE_MS);
      await send();
    }
    now = new Date(START + 10 * PAUSE_MS);
    await expect(send()).rejects.toMatchObject({ errorName: 'SMS_TOO_FREQUENT', code: 601 });
    expect(sent).toHaveLength(10);
    expect(await codes.guess(key, codeOf(sent[9]))).toBe(true);
  });

  it('sends so many messages of an application in a window, counted with decoys', async () => {
    const toAnother = () => ({ ...request(), key: { ...key, mobilePhoneNumber: uniquePhone() } });
    for (let message = 0; message < LIMIT / 2; message += 1) {
      await codes.send(toAnother());
      await codes.sendDecoy(toAnother());
    }
    now = new Date(START + 60_000);
    const refusal = { errorName: 'SMS_TOO_FREQUENT', code: 601, retryAfterSeconds: 3_540 };
    await expect(send()).rejects.toMatchObject(refusal);
    await expect(codes.sendDecoy(request())).rejects.toMatchObject(refusal);
    testPhones = { [key.mobilePhoneNumber]: '246810' };
    await send();
    testPhones = {};
    expect(sent).toHaveLength(LIMIT / 2);
    now = new Date(START + 3_600_000);
    // Had a refused request counted for the number, ten seconds would have to pass.
    await send();
    expect(sent).toHaveLength(LIMIT / 2 + 1);
  });

  it('names the user of a code to change a number, which other users may request for it too', async () => {
    key = { ...key, purpose: 'change', userId: 'ada' };
    await send();
    expect(sent).toMatchObject([{ purpose: 'change', userId: 'ada' }]);
  });

  it('stores no code that it cannot send, and does not count it', async () => {
    problem = new Error('no outbox');
    await expect(send()).rejects.toThrow('no outbox');
    const stored = await database.query('SELECT 1 FROM accounts.sms_codes WHERE app_id = $1', [key.appId]);
    expect(stored).toEqual([]);
    problem = undefined;
    await send();
  });

  it('gives a test number its code, without a message and without a limit', async () => {
    testPhones = { [key.mobilePhoneNumber]: '246810' };
    for (let request = 0; request < 12; request += 1) await send();
    expect([sent, await codes.guess(key, '246810')]).toEqual([[], true]);
  });

  it('has the code of a test number without a request, again once it was redeemed, and also for several at once', async () => {
    testPhones = { [key.mobilePhoneNumber]: '246810' };
    const use = async () => {
      expect(await codes.guess(key, '246810')).toBe(true);
      return codes.redeem(key, '246810', () => Promise.resolve('used'));
    };
    expect([await use(), await use()]).toEqual(['used', 'used']);
    expect(await Promise.all(Array.from({ length: 4 }, use))).toEqual(['used', 'used', 'used', 'used']);
    expect(await codes.guessNumber({ ...key, purpose: 'verify' }, '246810')).toBeUndefined();
  });

  it('has none of a test number any more after five wrong guesses, until it expires', async () => {
    testPhones = { [key.mobilePhoneNumber]: '246810' };
    for (let guess = 0; guess < 5; guess += 1) expect(await codes.guess(key, '000000')).toBe(false);
    await send();
    expect(await codes.guess(key, '246810')).toBe(false);
    await expect(codes.redeem(key, '246810', () => Promise.resolve())).rejects.toMatchObject({ code: 603 });
    now = new Date(START + 11 * 60_000);
    expect(await codes.guess(key, '246810')).toBe(true);
  });

  it.each(['__proto__', 'constructor', 'toString'])('does not take %s for a test number', async (mobilePhoneNumber) => {
    key = { ...key, mobilePhoneNumber };
    await expect(send()).rejects.toThrow();
    expect(sent).toEqual([]);
  });

  it('sends a decoy: the same limits and work, and no message', async () => {
    await codes.sendDecoy(request());
    expect(decoys).toHaveLength(1);
    await expect(codes.sendDecoy(request())).rejects.toMatchObject({ errorName: 'SMS_TOO_FAST' });
    await expect(send()).rejects.toMatchObject({ errorName: 'SMS_TOO_FAST' });
    expect(sent).toEqual([]);
  });
});
