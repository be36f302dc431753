import { simpleParser } from 'mailparser';
import { createTransport } from 'nodemailer';
import { describe, expect, it } from 'vitest';
import { ChannelUnavailable, DeliveryRefused } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.rules.js';
import type { TemplatesService } from '../templates/templates.service.js';
import { MailComposer, smtpFailure } from './mail.channels.js';

describe('a mail', () => {
  it.each([
    ['no-reply@shop.example', '<a1@shop.example>'],
    ['no-reply@商店.example', '<a1@xn--czrs0t.example>'],
  ])('from %s has the Message-ID %s, in ASCII as every header', async (mailFrom, messageId) => {
    const rendered = { subject: 'Hello', html: '<p>', text: 'Hello', language: 'en' };
    const templates = { render: () => Promise.resolve(rendered) } as Partial<TemplatesService> as TemplatesService;
    const composer = new MailComposer(templates, { baseUrl: 'https://shop.example', mailFrom });
    const delivery = {
      id: 'a1',
      kind: 'verifyEmail',
      recipient: 'ada@example.com',
      content: {},
    } as Partial<Delivery> as Delivery;
    expect(await composer.compose(delivery)).toMatchObject({ messageId, options: { messageId } });
  });

  const written = async (username: string, parts: { subject?: string; html?: string; text?: string }) => {
    const template = { subject: 'Hello', html: '{{link}}', text: '{{link}}', language: 'en', ...parts };
    const content = { kind: 'verifyEmail', languages: [], username, applicationName: 'Shop', token: 'a1', template };
    const delivery = { id: 'a1', recipient: 'ada@example.com', content } as Partial<Delivery> as Delivery;
    const composer = new MailComposer({} as TemplatesService, {
      baseUrl: 'https://shop.example',
      mailFrom: 'a@b.example',
    });
    const { options } = await composer.compose(delivery);
    const writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
    return (await writer.sendMail(options)).message as Buffer;
  };

  it('shows a name in its subject as the user wrote it: no mail program decodes it', async () => {
    const username = '=?utf-8?B?4oCuaHR0cHM6Ly9ldmlsLmV4YW1wbGU=?=';
    const { subject } = await simpleParser(await written(username, { subject: 'Hello {{username}}' }));
    expect(subject?.replaceAll('\u200b', '')).toBe(`Hello ${username}`);
  });

  it.each(['\r', '\r\r\n'])('from a template with the line breaks %j has only CR LF', async (lineBreak) => {
    const part = `Hello${lineBreak}${lineBreak}{{link}}${lineBreak}`;
    const mail = await written('ada', { html: part, text: part });
    expect(mail.toString()).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
    expect((await simpleParser(mail)).text).toBe('Hello\n\nhttps://shop.example/pages/verify-email?token=a1\n');
  });
});

const failure = (fields: Record<string, unknown>) => Object.assign(new Error('the answer'), fields);
const begun = { recipient: 'ada@example.com', hasBegun: true };
const notBegun = { ...begun, hasBegun: false };

describe('a failure of SMTP', () => {
  it.each(['ECONNECTION', 'ETIMEDOUT', 'ESOCKET', 'EDNS', 'ETLS', 'EAUTH', 'EPROTOCOL'])(
    '%s before the transfer: the server is unavailable; during it: this mail is retried',
    (code) => {
      expect(smtpFailure(failure({ code, command: 'CONN' }), notBegun)).toBeInstanceOf(ChannelUnavailable);
      const inTheMiddle = smtpFailure(failure({ code, command: 'CONN' }), begun);
      expect(inTheMiddle).not.toBeInstanceOf(ChannelUnavailable);
      expect(inTheMiddle).not.toBeInstanceOf(DeliveryRefused);
    },
  );

  it.each([
    ['RCPT TO', 550],
    ['RCPT TO', 553],
    ['DATA', 552],
    ['DATA', 554],
    ['MAIL FROM', 552],
  ])('%s with status %i: rejected permanently', (command, responseCode) => {
    expect(smtpFailure(failure({ code: 'EENVELOPE', command, responseCode }), begun)).toBeInstanceOf(DeliveryRefused);
  });

  it.each([
    ['MAIL FROM', 550],
    ['MAIL FROM', 530],
  ])('%s with status %i: concerns the service, so the server counts as unavailable', (command, responseCode) => {
    expect(smtpFailure(failure({ code: 'EENVELOPE', command, responseCode }), begun)).toBeInstanceOf(
      ChannelUnavailable,
    );
  });

  it.each([
    ['RCPT TO', 450],
    ['DATA', 421],
    ['DATA', 503],
    ['MAIL FROM', 451],
    ['DATA', 999],
    // Other recipients are accepted.
    ['RCPT TO', 530],
    ['RCPT TO', 535],
  ])('%s with status %i: retried', (command, responseCode) => {
    const error = smtpFailure(failure({ code: 'EENVELOPE', command, responseCode }), begun);
    expect(error.name).toBe('Error');
  });

  it('of the server names no address, however the server spells it', () => {
    const thrown = Object.assign(new Error('530 <ADA@example.com>, from:no-reply@example.com'), { responseCode: 530 });
    expect(smtpFailure(thrown, begun).message).toBe('530 <an address>, from:an address');
  });

  it('of a server that does not greet says that it may expect TLS', () => {
    const thrown = failure({ code: 'ETIMEDOUT', command: 'CONN', message: 'Greeting never received' });
    expect(smtpFailure(thrown, notBegun).message).toMatch(/^Greeting never received\. .* begin SMTP_URL with smtps/);
  });

  it('of a server with a huge reply is cut before it is searched for addresses', () => {
    const message = `554 ${'x'.repeat(980)} <ada.lovelace@example.com> ${'x'.repeat(20_000)}`;
    const error = smtpFailure(failure({ code: 'EPROTOCOL', command: 'CONN', message }), notBegun);
    expect(error).toBeInstanceOf(ChannelUnavailable);
    expect(error.message).toMatch(/^554 x{980} …$/);
  });

  it('an address that nodemailer itself rejects is rejected permanently', () => {
    expect(smtpFailure(failure({ code: 'EENVELOPE', command: 'API' }), begun)).toBeInstanceOf(DeliveryRefused);
  });

  it.each(['MAIL FROM', 'RCPT TO'])('%s refused for letters before the @ says so', (command) => {
    const failed = { ...begun, recipient: '用户@example.com' };
    const error = smtpFailure(failure({ code: 'EENVELOPE', command, responseCode: 553 }), failed);
    expect(error).toBeInstanceOf(DeliveryRefused);
    expect(error.message).toMatch(/SMTPUTF8.*the answer/);
  });
});
