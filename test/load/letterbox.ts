import { linkIn, type MailedLink, type ReceivedMail, type SmtpSink } from '#testing';

/** The mails that have come, by the address they went to. */
export class Letterbox {
  readonly #byAddress = new Map<string, ReceivedMail[]>();
  #read = 0;

  constructor(private readonly sink: SmtpSink) {}

  /** Takes in what has come since the last time. */
  async fetch(): Promise<void> {
    const mails = await this.sink.allMails();
    for (const mail of mails.slice(this.#read))
      for (const address of mail.to) this.#byAddress.set(address, [...this.mailsTo(address), mail]);
    this.#read = mails.length;
  }

  get size(): number {
    return this.#read;
  }

  get addresses(): string[] {
    return [...this.#byAddress.keys()];
  }

  mailsTo(address: string): readonly ReceivedMail[] {
    return this.#byAddress.get(address) ?? [];
  }

  /** How often each mail to an address has come, by its Message-ID. */
  copiesTo(address: string): Map<string, number> {
    const copies = new Map<string, number>();
    for (const { messageId } of this.mailsTo(address)) copies.set(messageId, (copies.get(messageId) ?? 0) + 1);
    return copies;
  }

  /** The first link to an address that leads to a page. */
  linkTo(address: string, page: 'verify-email' | 'reset-password'): MailedLink | undefined {
    return this.mailsTo(address)
      .map((mail) => linkIn(mail))
      .find(({ link }) => link.includes(page));
  }
}
