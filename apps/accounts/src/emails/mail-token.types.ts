import type { MailKind } from '#contracts';

/** What the token of a link says. */
export interface MailToken {
  readonly kind: MailKind;
  readonly appId: string;
  readonly userId: string;
  /** How often address and password had been changed when it was made. */
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly expiresAt: Date;
}
