import type { MailKind } from '#contracts';

/** What a queued mail is written from: sealed while it waits. */
export interface MailContent {
  readonly kind: MailKind;
  readonly languages: readonly string[];
  readonly username: string;
  readonly applicationName: string;
  readonly token: string;
  readonly pageUrl: string | null;
}
