import type { CodePurpose } from '#contracts';

/** What a code is bound to: it is right for nothing else. A new one replaces the old one of the same key. */
export interface SmsCodeKey {
  readonly appId: string;
  readonly purpose: CodePurpose;
  readonly mobilePhoneNumber: string;
  /** The one user who may use it; absent where it is for whoever has the number. */
  readonly userId?: string;
}

/** A code as it is stored. */
export interface SmsCodeRow extends SmsCodeKey {
  /** What the hash may be, with each secret that is good; the first one is stored. */
  readonly hashes: readonly Buffer[];
  /** By which it is found where it comes without its number; absent where it always has to come with it. */
  readonly numberlessHash?: Buffer | undefined;
  readonly expiresAt: Date;
}
