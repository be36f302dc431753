/** Whose failures are counted together, whatever name or endpoint they came by. */
export interface LockoutSubject {
  readonly appId: string;
  readonly userId: string;
}

/** When a user is locked, and for how long. */
export interface LockoutLimits {
  /** Which failure within the window locks. Also the most attempts that can be failed or pending at once. */
  readonly lockingFailure: number;
  readonly windowMs: number;
  /** Counted from the failure that locks. */
  readonly lockMs: number;
  /** How long an attempt may take; after it, its place is free again. */
  readonly reservationMs: number;
}

/** Whether an attempt may be judged. `full`: others must be judged before it. */
export type ReserveOutcome =
  { readonly kind: 'reserved' | 'full' } | { readonly kind: 'locked'; readonly remainingMs: number };

/** What became of a verdict. Only one that was `judged` may be told; `late`: its reservation had expired. */
export type SettleOutcome = (
  { readonly kind: 'judged' | 'late' } | { readonly kind: 'locked'; readonly remainingMs: number }
) & {
  /** Whether this verdict has locked the user. */
  readonly isLockNew: boolean;
};

/** A locked user. */
export interface Lockout {
  readonly userId: string;
  readonly lockedUntil: Date;
}

export interface LockoutStatus {
  readonly lockedUntil: Date | undefined;
  /** Failures within the window; none while the user is locked. */
  readonly failures: number;
}

/** A page of locked users, in the order in which their locks end. */
export interface LockoutPage {
  readonly limit: number;
  /** The last one of the page before. */
  readonly after?: Lockout | undefined;
}
