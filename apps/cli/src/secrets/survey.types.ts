/** Values of one table by the id of the key that sealed them. */
export interface SealedCounts {
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** What a service has sealed, and with what. */
export interface ServiceSurvey {
  readonly service: string;
  readonly keyId: string;
  readonly acceptedKeyIds: readonly string[];
  readonly tables: readonly SealedCounts[];
}

/** Everything that may need a secret. */
export interface Survey {
  readonly keyId: string;
  readonly services: readonly ServiceSurvey[];
  /** Until when mailed links and codes may need another key; null: no rotation was noted. */
  readonly rotation: { readonly linksUntil: string | null; readonly codesUntil: string | null };
  readonly waitingEvents: number;
  readonly deadEvents: number;
}
