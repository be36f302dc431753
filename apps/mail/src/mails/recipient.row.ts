/** The last change of a user's address that was heard of. */
export interface RecipientRow {
  /** Null where the user has none any more. */
  readonly email: string | null;
  readonly changedAt: Date;
}
