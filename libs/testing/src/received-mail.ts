import { domainToUnicode } from 'node:url';
import { type AddressObject, simpleParser } from 'mailparser';

/** A mail as its reader sees it. */
export interface ReceivedMail {
  readonly to: readonly string[];
  readonly from: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  /** By their names in small letters, unfolded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly raw: string;
}

/** A link of a mail, and the token in it. */
export interface MailedLink {
  readonly link: string;
  readonly token: string;
}

export async function parseMail(raw: Buffer): Promise<ReceivedMail> {
  const mail = await simpleParser(raw);
  return {
    to: [mail.to ?? []].flat().flatMap(addressesOf),
    from: mail.from === undefined ? '' : (addressesOf(mail.from)[0] ?? ''),
    subject: mail.subject ?? '',
    text: mail.text ?? '',
    html: mail.html === false ? '' : mail.html,
    messageId: mail.messageId ?? '',
    headers: new Map(mail.headerLines.map(({ key, line }) => [key, unfolded(line.slice(key.length + 1))])),
    raw: raw.toString(),
  };
}

/** Whether a mail goes to an address, whose domain may be written in letters or as it is in the DNS. */
export function goesTo({ to }: Pick<ReceivedMail, 'to'>, address: string): boolean {
  return to.some((each) => inLetters(each) === inLetters(address));
}

/** The link to follow. @throws Error where the text has none */
export function linkIn({ subject, text }: ReceivedMail): MailedLink {
  const [link, token] = /https?:\/\/\S*[?&]token=(\w+)/.exec(text) ?? [];
  if (link === undefined || token === undefined) throw new Error(`no link in the mail "${subject}": ${text}`);
  return { link, token };
}

function addressesOf({ value }: AddressObject): string[] {
  return value.flatMap(({ address }) => address ?? []);
}

function inLetters(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  return address.slice(0, at) + domainToUnicode(address.slice(at));
}

function unfolded(value: string): string {
  return value.replaceAll(/\r?\n(?=[ \t])/g, '').trim();
}
