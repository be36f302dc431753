import type { Markup } from '../html/markup.js';

/** A heading with what is to be said under it. */
export interface Message {
  readonly title: string;
  readonly lead: string;
}

/** What went wrong with a field of the form. */
export type PasswordMistake = 'missing' | 'tooShort' | 'refused';

/** Everything that the pages of mailed links say, in one language. Names that a user chose come in as markup, set apart and escaped. */
export interface PageTexts {
  /** The language itself (BCP 47). */
  readonly language: string;
  /** What the application is called where nobody knows its name. */
  readonly someApplication: string;
  readonly address: string;
  readonly account: string;

  readonly verify: Message & { readonly action: string; readonly note: string };
  readonly verified: { readonly title: string; readonly lead: (application: Markup) => Markup };
  readonly alreadyVerified: Message;

  readonly reset: Message & {
    readonly password: string;
    readonly rule: string;
    readonly repeat: string;
    readonly action: string;
    readonly note: string;
    /** Above the form, where it was not accepted. */
    readonly refusal: string;
    readonly mistakes: Readonly<Record<PasswordMistake, string>>;
    readonly different: string;
  };
  readonly wasReset: { readonly title: string; readonly lead: (application: Markup) => Markup };

  readonly expired: Readonly<Record<'verifyEmail' | 'resetPassword', Message>> & {
    readonly canBeRenewed: (email: Markup) => Markup;
    readonly action: string;
    readonly cannotBeRenewed: string;
  };
  readonly renewed: Message;
  readonly tooManyMails: Message;

  readonly failures: Readonly<
    Record<'malformed' | 'notFound' | 'tooManyRequests' | 'unavailable' | 'internal', Message>
  >;
}
