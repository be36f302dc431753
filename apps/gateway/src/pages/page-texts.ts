/** A heading and the sentence below it. */
export interface Message {
  readonly title: string;
  readonly lead: string;
}

/** The reason why a password is refused. */
export type PasswordMistake = 'missing' | 'tooShort' | 'refused';

/** All texts of the pages of mailed links in one language. */
export interface PageTexts {
  /** The language itself (BCP 47). */
  readonly language: string;
  /** Replaces the name of the application where it is unknown. */
  readonly someApplication: string;
  readonly address: string;
  readonly account: string;

  readonly verify: Message & { readonly action: string; readonly note: string };
  /** `{name}` in the lead stands for the name of the application. */
  readonly verified: Message;
  readonly alreadyVerified: Message;

  readonly reset: Message & {
    readonly password: string;
    readonly rule: string;
    readonly repeat: string;
    readonly action: string;
    readonly note: string;
    /** Shown above a form that was refused. */
    readonly refusal: string;
    readonly mistakes: Readonly<Record<PasswordMistake, string>>;
    readonly different: string;
  };
  /** `{name}` in the lead stands for the name of the application. */
  readonly wasReset: Message;

  readonly expired: Readonly<Record<'verifyEmail' | 'resetPassword', Message>> & {
    /** `{name}` stands for the email address. */
    readonly canBeRenewed: string;
    readonly action: string;
    readonly cannotBeRenewed: string;
  };
  readonly renewed: Message;
  readonly tooManyMails: Message;

  readonly failures: Readonly<
    Record<'malformed' | 'notFound' | 'tooManyRequests' | 'unavailable' | 'internal', Message>
  >;
}
