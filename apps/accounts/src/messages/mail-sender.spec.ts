import { describe, expect, it } from 'vitest';
import type { Clock } from '#bootstrap';
import type { MailRequest } from '#contracts';
import type { Outbox, Tx } from '#database';
import type { AccountsConfig } from '../accounts.config.js';
import type { ApplicationsService } from '../applications/applications.service.js';
import { languagesOf, mailboxOf, MailSender, type MailTokens, pageUrlOf } from './mail-sender.js';
import type { MessageAllowancesRepository } from './message-allowances.repository.js';

describe('a request for a mail', () => {
  const NOW = new Date('2026-01-08T12:00:00.000Z');

  const requestFor = async (updatedAt: string) => {
    const requests: MailRequest[] = [];
    const settings = { resetPasswordPage: '', mailLanguage: 'en' };
    const sender = new MailSender(
      {
        take: () => Promise.resolve('taken'),
        removeExpired: () => Promise.resolve(),
      } as Partial<MessageAllowancesRepository> as MessageAllowancesRepository,
      { profileWithin: () => Promise.resolve({ name: 'Shop', settings }) } as unknown as ApplicationsService,
      { createSealed: () => 'sealed' } as Partial<MailTokens> as MailTokens,
      {
        add: (_tx: Tx, _event: unknown, request: MailRequest) => Promise.resolve(requests.push(request)),
      } as unknown as Outbox,
      { now: () => NOW } as Clock,
      { linkLifetimesMs: { resetPassword: 1_000 } } as unknown as AccountsConfig,
    );
    const versions = { emailVersion: 0, passwordVersion: 0, createdAt: new Date(0) };
    const user = {
      objectId: 'ada',
      username: 'ada',
      email: 'ada@example.com',
      ...versions,
      updatedAt: new Date(updatedAt),
    };
    await sender.send({} as Tx, { appId: 'app', languages: [] }, 'resetPassword', user);
    return requests[0]?.userUpdatedAt;
  };

  it('is of the time of the last change', async () => {
    expect(await requestFor('2026-01-08T11:59:59.000Z')).toBe('2026-01-08T11:59:59.000Z');
  });

  it('is later than a deletion of the user, whom an import has brought back with an old time', async () => {
    expect(await requestFor('2024-05-01T00:00:00.000Z')).toBe('2026-01-08T11:59:55.000Z');
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
