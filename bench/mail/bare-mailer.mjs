// The limit that mail is compared with: nodemailer sending as many mails of that size over as many connections, and nothing else.
import { createTransport } from 'nodemailer';

const [url, count, connections] = process.argv.slice(2);
const LINK = `https://accounts.example.com/pages/verify-email?token=${'0123456789abcdef'.repeat(16)}`;
const transport = createTransport({ url, pool: true, maxConnections: Number(connections), maxMessages: Infinity });

const startedAt = performance.now();
await Promise.all(
  Array.from({ length: Number(count) }, (_, index) =>
    transport.sendMail({
      from: 'Benchmark <no-reply@example.com>',
      to: `bare${index}@example.com`,
      subject: 'Please verify your e-mail address',
      text: `Hello bare${index},\n\nplease follow this link to verify your e-mail address:\n\n${LINK}\n`,
      html: `<!doctype html><html lang="en"><body><h1>Benchmark</h1><p>Hello bare${index},</p><p><a href="${LINK}">Verify</a></p></body></html>`,
      messageId: `<${index}@example.com>`,
    }),
  ),
);
transport.close();
process.stdout.write(String(Number(count) / ((performance.now() - startedAt) / 1000)));
