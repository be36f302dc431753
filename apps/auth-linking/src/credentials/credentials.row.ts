/** Credentials as they are stored. */
export interface CredentialsRow {
  readonly appId: string;
  readonly platform: string;
  readonly kind: string;
  /** Fields that are no secret. */
  readonly shown: Readonly<Record<string, string>>;
  /** JSON of the other fields, sealed. */
  readonly sealedSecrets: string;
}
