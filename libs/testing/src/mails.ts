import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiReply } from './api-client.js';
import { eventually } from './eventually.js';
import type { GatepostServer } from './gatepost-server.js';
import { goesTo, linkIn, type MailedLink, parseMail, type ReceivedMail } from './received-mail.js';

type Server = Pick<GatepostServer, 'env'>;

/** By the paths of their files, which are written once. */
const parsed = new Map<string, Promise<ReceivedMail>>();

/** The mails that were written to files for an address so far, in no order. */
export async function mailsTo({ env }: Server, address: string): Promise<ReceivedMail[]> {
  const folder = join(env['GATEPOST_DATA_DIR'] ?? '', 'outbox', 'mail');
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.eml')) : [];
  const mails = await Promise.all(files.map((name) => mailIn(join(folder, name))));
  return mails.filter((mail) => goesTo(mail, address));
}

/** The first mail that comes to an address. @throws Error where none comes */
export function firstMailTo(server: Server, address: string): Promise<ReceivedMail> {
  return eventually(async () => {
    const [mail] = await mailsTo(server, address);
    if (mail === undefined) throw new Error(`no mail to ${address}`);
    return mail;
  });
}

/** The mail that a request sends to an address. @throws Error where the request is refused, or no mail comes */
export async function mailSentBy(
  server: Server,
  address: string,
  request: () => Promise<Pick<ApiReply, 'status' | 'body'>>,
): Promise<ReceivedMail> {
  const before = new Set((await mailsTo(server, address)).map(({ messageId }) => messageId));
  const { status, body } = await request();
  if (status >= 300) throw new Error(`the request for a mail was answered ${status}: ${JSON.stringify(body)}`);
  return eventually(async () => {
    const mail = (await mailsTo(server, address)).find(({ messageId }) => !before.has(messageId));
    if (mail === undefined) throw new Error(`no mail to ${address}`);
    return mail;
  });
}

/** The link, and its token, that a request sends to an address. */
export async function linkSentBy(...args: Parameters<typeof mailSentBy>): Promise<MailedLink> {
  return linkIn(await mailSentBy(...args));
}

function mailIn(file: string): Promise<ReceivedMail> {
  const mail = parsed.get(file) ?? parseMail(readFileSync(file));
  parsed.set(file, mail);
  return mail;
}
