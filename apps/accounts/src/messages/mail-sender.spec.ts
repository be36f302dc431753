import { describe, expect, it } from 'vitest';
import { events, type MailRequest } from '#contracts';
import type { Outbox, Tx } from '#database';
import { Sealer } from '#security';
import type { AccountsConfig } from '../accounts.config.js';
import type { ApplicationsService } from '../applications/applications.service.js';
import { languagesOf, mailboxOf, MailSender, MailTokens, pageUrlOf } from './mail-sender.js';
import type { AllowanceRefusal, MessageAllowancesRepository } from './message-allowances.repository.js';

const NOW = new Date('2026-01-08T12:00:00.000Z');
const USER = {
  objectId: 'ada',
  username: 'ada',
  email: 'ada@example.com',
  emailVersion: 0,
  passwordVersion: 0,
  createdAt: new Date(0),
  updatedAt: new Date(0),
};
const ORIGIN = { appId: 'app', languages: [] };

/** A sender whose collaborators only record their calls. */
function recordingSender({ refusal }: { readonly refusal?: AllowanceRefusal | undefined } = {}) {
  const steps: string[] = [];
  const requests: MailRequest[] = [];
  const step =
    <T>(name: string, result: T) =>
    () => {
      steps.push(name);
      return Promise.resolve(result);
    };
  const request = (_tx: Tx, _event: unknown, payload: MailRequest) => {
    requests.push(payload);
    return step('outbox', undefined)();
  };
  const settings = { verifyEmailOnSignUp: true, resetPasswordPage: '', mailLanguage: 'en' };
  const sender = new MailSender(
    {
      take: step('take', refusal),
      removeExpired: step('removeExpired', undefined),
    } as unknown as MessageAllowancesRepository,
    { profileWithin: step('profile', { name: 'Shop', settings }) } as unknown as ApplicationsService,
    new MailTokens(new Sealer('a secret of thirty-two characters, or more')),
    { add: request, addDecoy: request } as unknown as Outbox,
    { now: () => NOW },
    { linkLifetimesMs: { resetPassword: 1_000, verifyEmail: 1_000 } } as unknown as AccountsConfig,
  );
  return { sender, steps, requests };
}

describe('a mail that is not sent', () => {
  it.each([undefined, { reason: 'tooMany', retryAfterSeconds: 9 } as const])(
    'takes the work of one that is: %o',
    async (refusal) => {
      const [real, decoy] = [recordingSender({ refusal }), recordingSender({ refusal })];
      expect(await real.sender.send({} as Tx, ORIGIN, 'resetPassword', USER)).toBe(refusal);
      expect(await decoy.sender.sendDecoy({} as Tx, ORIGIN, 'resetPassword', USER.email)).toBe(refusal);
      expect(decoy.steps).toEqual(real.steps);
      expect(events.mailRequested.payload.safeParse(decoy.requests[0]).success).toBe(refusal === undefined);
    },
  );
});

describe('the mail of a new address', () => {
  it('reads the settings in the transaction, which must not wait for another connection', async () => {
    const { sender, steps } = recordingSender();
    await sender.sendVerification({} as Tx, ORIGIN, USER);
    expect(steps).toEqual(['profile', 'take', 'removeExpired', 'profile', 'outbox']);
  });
});

describe('a request for a mail', () => {
  const timeOf = async (updatedAt: string) => {
    const { sender, requests } = recordingSender();
    await sender.send({} as Tx, ORIGIN, 'resetPassword', { ...USER, updatedAt: new Date(updatedAt) });
    return requests[0]?.userUpdatedAt;
  };

  it('is of the time of the last change', async () => {
    expect(await timeOf('2026-01-08T11:59:59.000Z')).toBe('2026-01-08T11:59:59.000Z');
  });

  it('is later than a deletion of the user, whom an import has brought back with an old time', async () => {
    expect(await timeOf('2024-05-01T00:00:00.000Z')).toBe('2026-01-08T11:59:55.000Z');
  });
});

describe('pageUrlOf', () => {
  const settings = { verifyEmailPage: 'https://shop.example/verify', resetPasswordPage: '' };

  it('is the page of the application', () => {
    expect(pageUrlOf('verifyEmail', settings)).toBe('https://shop.example/verify');
  });

  it('is null without a page', () => {
    expect(pageUrlOf('resetPassword', settings)).toBeNull();
  });
});

describe('languagesOf', () => {
  it.each([
    [[], ['zh']],
    [['en'], ['en', 'zh']],
    [
      ['zh', 'en'],
      ['zh', 'en'],
    ],
    [
      ['a1', 'b1', 'c1', 'd1', 'e1', 'f1'],
      ['a1', 'b1', 'c1', 'd1', 'e1', 'zh'],
    ],
  ])('of %j, with the application language zh: %j', (wanted, expected) => {
    expect(languagesOf(wanted, { mailLanguage: 'zh' })).toEqual(expected);
  });
});

describe('mailboxOf', () => {
  it.each([
    ['ada@example.com', 'ada@example.com'],
    ['Ada@Example.COM', 'ada@example.com'],
    ['ada+one@example.com', 'ada@example.com'],
    ['ada+one+two@example.com', 'ada@example.com'],
    ['+ada@example.com', '+ada@example.com'],
    ['ada.lovelace@example.com', 'ada.lovelace@example.com'],
    ['Ädä@exämple.de', 'ädä@xn--exmple-cua.de'],
    ['ädä@XN--exmple-CUA.de', 'ädä@xn--exmple-cua.de'],
    ['ada@xn--no-such-form-.de', 'ada@xn--no-such-form-.de'],
    ['ＡＤＡ@example.com', 'ada@example.com'],
  ])('%s leads to %s', (email, mailbox) => {
    expect(mailboxOf(email)).toBe(mailbox);
  });
});
