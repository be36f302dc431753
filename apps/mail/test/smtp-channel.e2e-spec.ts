import { SMTPServer } from 'smtp-server';
import { afterEach, describe, expect, it } from 'vitest';
import { Secret } from '#bootstrap';
import { freePorts } from '#testing';
import { ChannelUnavailable } from '../src/deliveries/delivery.channel.js';
import type { Delivery } from '../src/deliveries/delivery.rules.js';
import { type MailComposer, SmtpChannel } from '../src/mails/mail.channels.js';

const composer = {
  compose: ({ id, recipient }: Delivery) =>
    Promise.resolve({
      options: {
        from: 'us@shop.example',
        to: { name: '', address: recipient },
        text: 'a letter',
        messageId: `<${id}>`,
      },
      messageId: `<${id}>`,
    }),
} as unknown as MailComposer;

const deliveryTo = (recipient: string) => ({ id: recipient, recipient }) as Delivery;

const LIMITS = { transferMs: 800, answerMs: 2_000 };

const ends: (() => unknown)[] = [];

/** A server without STARTTLS, and the channel to it. */
async function open({
  hidesSmtpUtf8 = false,
  scheme = 'smtp',
  query = '',
  greetsMs = 0,
  acceptsMs = 0,
  takesRecipients = true,
  limits = LIMITS,
} = {}) {
  const recipients: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    hideSMTPUTF8: hidesSmtpUtf8,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onConnect: (_session, done) => {
      setTimeout(done, greetsMs);
    },
    onRcptTo: (_address, _session, done) => {
      if (takesRecipients) done();
    },
    onData: (stream, session, done) => {
      recipients.push(...session.envelope.rcptTo.map(({ address }) => address));
      stream.resume().on('end', () => setTimeout(done, acceptsMs));
    },
  });
  const port = await freePorts(1);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = new Secret(`${scheme}://127.0.0.1:${port}${query}`);
  const channel = new SmtpChannel(composer, { url, connections: 1 }, limits);
  ends.push(() => {
    channel.onApplicationShutdown();
    server.close();
  });
  return { channel, recipients };
}

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

describe('a server without STARTTLS', () => {
  it('gets no mail where the URL requires it: mails wait', async () => {
    const { channel, recipients } = await open({ query: '/?requireTLS=true' });
    await expect(channel.send(deliveryTo('ada@example.com'))).rejects.toBeInstanceOf(ChannelUnavailable);
    expect(recipients).toEqual([]);
  });

  it('is named where the URL begins with smtps, with the remedy', async () => {
    const { channel } = await open({ scheme: 'smtps' });
    const failure = expect(channel.send(deliveryTo('ada@example.com'))).rejects;
    await failure.toThrow(/^The server does not begin with TLS on this port\. Begin SMTP_URL with smtp:\/\//);
  });
});

describe('a slow server', () => {
  it('that greets after eleven seconds, as while its DNS does not respond, gets the mail', async () => {
    const { channel, recipients } = await open({ greetsMs: 11_000, limits: { transferMs: 50_000, answerMs: 50_000 } });
    await channel.send(deliveryTo('ada@example.com'));
    expect(recipients).toEqual(['ada@example.com']);
  }, 30_000);

  it('that stores a mail has time for its answer: an early timeout would lead to many copies', async () => {
    const { channel, recipients } = await open({ acceptsMs: 1_200 });
    await channel.send(deliveryTo('ada@example.com'));
    expect(recipients).toEqual(['ada@example.com']);
  });

  it.each([
    ['after the mail', { acceptsMs: 20_000 }, LIMITS.answerMs],
    ['before it', { takesRecipients: false }, LIMITS.transferMs],
  ])('that does not answer %s: that mail is retried, and the next one is not delayed', async (_, options, limitMs) => {
    const { channel } = await open(options);
    const error: unknown = await channel.send(deliveryTo('ada@example.com')).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'Error', message: `no answer within ${limitMs} ms` });
    const next = await channel.send(deliveryTo('bob@example.com')).catch((thrown: unknown) => thrown);
    expect(next).toMatchObject({ message: `no answer within ${limitMs} ms` });
  });
});

describe('an address with non-ASCII letters before the @', () => {
  it('is sent if the server supports it', async () => {
    const { channel, recipients } = await open();
    await channel.send(deliveryTo('ada@example.com'));
    await channel.send(deliveryTo('用户@example.com'));
    expect(recipients).toEqual(['ada@example.com', '用户@example.com']);
  });

  it('is rejected with a clear reason if the server does not support it', async () => {
    const { channel, recipients } = await open({ hidesSmtpUtf8: true });
    await channel.send(deliveryTo('ada@example.com'));
    await expect(channel.send(deliveryTo('用户@example.com'))).rejects.toMatchObject({
      name: 'DeliveryRefused',
      message: expect.stringContaining('SMTPUTF8') as string,
    });
    await channel.send(deliveryTo('kim@bücher.example'));
    expect(recipients).toHaveLength(2);
  });
});
