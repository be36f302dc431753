/** Who carries an application's text messages, as it is stored. */
export interface TextMessageProviderRow {
  readonly appId: string;
  readonly kind: string;
  /** Fields that are no secret. */
  readonly shown: Readonly<Record<string, string>>;
  /** JSON of the other fields, sealed. */
  readonly sealedSecrets: string;
}
