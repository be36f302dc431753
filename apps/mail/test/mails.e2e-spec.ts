import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deliveriesRpc, operatorMailsRpc } from '#contracts';
import { eventually, linkIn, mailsTo, type SmtpSink, type SmtpSinkOptions, unique, useSmtpSink } from '#testing';
import { MailService } from './mail-service.js';

const only = async (sink: SmtpSink, address: string) =>
  eventually(async () => {
    const mails = await sink.mailsTo(address);
    expect(mails).toHaveLength(1);
    return mails[0]!;
  });

describe('mails by SMTP', () => {
  const sink = useSmtpSink();
  let mail: MailService;

  beforeAll(async () => {
    mail = await MailService.start(1, { ...sink().env(), GATEPOST_BASE_URL: 'https://accounts.example.com' });
  });
  afterAll(() => mail.stop());

  it('come from the application, with the link and the headers of automatic mails', async () => {
    const { id, email, token } = await mail.request();
    const received = await only(sink(), email);
    expect(linkIn(received)).toEqual({ link: `https://accounts.example.com/pages/verify-email?token=${token}`, token });
    expect(received.html).toContain(token);
    expect(received).toMatchObject({ to: [email], from: 'no-reply@gatepost.test', messageId: `<${id}@gatepost.test>` });
    expect(Object.fromEntries(received.headers)).toMatchObject({
      from: 'Shop <no-reply@gatepost.test>',
      to: email,
      'auto-submitted': 'auto-generated',
      'content-language': 'en',
    });
    expect(await mail.untilRecorded(id, 'sent')).toMatchObject({ attempts: 1, last_error: null });
  });

  it("link to the application's own page if it has one, else to the built-in page of the kind", async () => {
    const own = await mail.request({ pageUrl: 'https://shop.example/verify' });
    const query = await mail.request({ pageUrl: 'https://shop.example/?a=1' });
    const reset = await mail.request({ kind: 'resetPassword' });
    expect(linkIn(await only(sink(), own.email)).link).toBe(`https://shop.example/verify?token=${own.token}`);
    expect(linkIn(await only(sink(), query.email)).link).toBe(`https://shop.example/?a=1&token=${query.token}`);
    expect(linkIn(await only(sink(), reset.email)).link).toBe(
      `https://accounts.example.com/pages/reset-password?token=${reset.token}`,
    );
  });

  it.each([
    ['line breaks', 'Shop\r\nBcc: eve@example.com\r\n\r\nletter'],
    ['an address', 'Shop <eve@example.com>, eve'],
    ['quotes', 'The "Shop", eve@example.com; x:y'],
  ])('take no second recipient and no header from a name with %s', async (_, applicationName) => {
    const { email } = await mail.request({ applicationName, username: applicationName });
    const received = await only(sink(), email);
    expect(received).toMatchObject({ to: [email], from: 'no-reply@gatepost.test' });
    expect(received.headers.has('bcc')).toBe(false);
    expect(await sink().mailsTo('eve@example.com')).toEqual([]);
  });

  it.each([
    'a@example.com, b@example.com',
    'a@example.com\r\nRCPT TO:<b@example.com>',
    '"a" <a@example.com>',
    'a b@c.com',
    'a',
  ])('go to no recipient that is no single address: %j', async (email) => {
    const { id } = await mail.request({ email });
    expect(await mail.untilRecorded(id, 'dead')).toMatchObject({
      last_error: 'the recipient is not a valid email address',
    });
  });

  it('reach international domains by their ASCII form', async () => {
    const { id } = await mail.request({ email: 'kim@bücher.example' });
    await mail.untilRecorded(id, 'sent');
    const received = (await sink().allMails()).find(({ messageId }) => messageId.includes(id));
    expect(received?.headers.get('to')).toBe('kim@xn--bcher-kva.example');
  });

  it('are not sent again if the event is delivered again', async () => {
    const { id, email } = await mail.request();
    await only(sink(), email);
    await mail.request({ email }, id);
    const last = await mail.request({ email });
    await mail.untilRecorded(last.id, 'sent');
    expect((await sink().mailsTo(email)).map(({ messageId }) => messageId)).toEqual([
      `<${id}@gatepost.test>`,
      `<${last.id}@gatepost.test>`,
    ]);
  });
});

describe.each<[string, SmtpSinkOptions]>([
  ['TLS from the start', { tls: 'implicit' }],
  ['STARTTLS', { tls: 'starttls' }],
])('mails over %s with an account', (_, options) => {
  const sink = useSmtpSink({ ...options, account: { user: 'mailer', password: 'p-ss-word' } });
  let mail: MailService;

  beforeAll(async () => {
    mail = await MailService.start(1, sink().env());
  });
  afterAll(() => mail.stop());

  it('are accepted, and the password is in no log', async () => {
    const { email } = await mail.request();
    await only(sink(), email);
    expect(mail.server.main.stderr + mail.server.main.stdout).not.toContain('p-ss-word');
  });
});

describe('mails without an SMTP server', () => {
  let mail: MailService;

  beforeAll(async () => {
    mail = await MailService.start(1, {});
  });
  afterAll(() => mail.stop());

  it('are no invitations of operators: their links stay in the console', async () => {
    const email = `${unique('operator')}@example.com`;
    const expiresAt = new Date().toISOString();
    const invitation = { email, invitedBy: 'Ada', language: 'en' as const, sealedLink: 'sealed', expiresAt };
    expect(await mail.rpc.call(operatorMailsRpc.invite, invitation)).toEqual({ isQueued: false });
    const { deliveries } = await mail.rpc.call(deliveriesRpc.list, { recipient: email, limit: 1 });
    expect(deliveries).toEqual([]);
  });

  it('become files that only this user can read, and their link is printed', async () => {
    const { id, email, token } = await mail.request();
    const received = await eventually(async () => {
      const [found] = await mailsTo(mail.server, email);
      if (found === undefined) throw new Error('no file');
      return found;
    });
    const { link } = linkIn(received);
    expect(link).toBe(`http://localhost:${mail.server.env['GATEPOST_PORT']!}/pages/verify-email?token=${token}`);
    const file = join(mail.server.env['GATEPOST_DATA_DIR']!, 'outbox', 'mail', `${id}.eml`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await mail.server.main.untilLogged(
      new RegExp(`Mail to ${email}: ${link.replaceAll(/[?.]/g, String.raw`\$&`)}\n.*\n.*${id}\\.eml`),
    );
  });
});
