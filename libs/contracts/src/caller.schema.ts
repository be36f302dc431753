import { z } from 'zod';
import { languages } from './application.schema.js';

/** The party whose permissions apply: anonymous, or a user with its roles. */
export const principal = z.object({
  userId: z.string().optional(),
  /** Names of the user's roles, inherited roles included. */
  roles: z.array(z.string()).readonly(),
});

export type Principal = z.output<typeof principal>;

/** The sender of a request: the application whose key the request presents, and the session token as sent. Accounts checks the token. */
export const caller = z.object({
  /** One id per HTTP request. Every service adds it to the log lines of errors. */
  requestId: z.string().max(64),
  appId: z.string().min(1),
  /** The request was authenticated with the application's master key. */
  isMaster: z.boolean(),
  sessionToken: z.string().max(256).optional(),
  /** Languages of the Accept-Language header, for mails that the request causes. */
  languages: languages.optional(),
});

export type Caller = z.output<typeof caller>;

/** Credentials that operators enter: a strict object of texts, some of them secret. */
export type CredentialSchema = z.ZodObject<Record<string, z.ZodString | z.ZodOptional<z.ZodString>>>;

/** Text on one line. */
export const credentialText = (maxLength: number): z.ZodString =>
  z
    .string()
    .regex(new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${maxLength}}$`, 'u'), `must be 1 to ${maxLength} printable characters`);

/** A secret that is sealed at rest and never shown again. */
export const credentialSecret: z.ZodString = z.string().min(1).max(8_192).meta({ isSecret: true });

/** Credentials as received, before their schema is applied. */
export const givenCredentials = z.record(z.string(), z.string().max(8_192));

/** A field of credentials, as operators see it. */
export interface CredentialField {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

type Fields = Readonly<Record<string, string>>;

/** Credentials, split into fields that may be shown and fields that are sealed. */
export interface SplitCredentials {
  readonly shown: Fields;
  readonly secrets: Fields;
}

/** The fields of credentials, in the order of their schema. */
export function credentialFieldsOf({ shape }: CredentialSchema): CredentialField[] {
  return Object.entries(shape).map(([name, field]) => {
    const isRequired = !(field instanceof z.ZodOptional);
    const inner = isRequired ? field : field.unwrap();
    return { name, isRequired, isSecret: inner.meta()?.['isSecret'] === true, description: field.description };
  });
}

/** Splits credentials that their schema has accepted. */
export function splitCredentials(schema: CredentialSchema, fields: Fields): SplitCredentials {
  const secretNames = new Set(credentialFieldsOf(schema).flatMap(({ name, isSecret }) => (isSecret ? [name] : [])));
  const entries = Object.entries(fields);
  return {
    shown: Object.fromEntries(entries.filter(([name]) => !secretNames.has(name))),
    secrets: Object.fromEntries(entries.filter(([name]) => secretNames.has(name))),
  };
}

/** The reason why fields are not valid credentials of a kind; undefined where they are valid. The text names the field, never its value. */
export function credentialProblem(kind: string, schema: CredentialSchema, fields: Fields): string | undefined {
  const issue = schema.safeParse(fields).error?.issues[0];
  if (issue === undefined) return undefined;
  const name = issue.path.join('.');
  if (name !== '') return `${name}: ${name in fields ? issue.message : 'is missing'}`;
  const known = credentialFieldsOf(schema).map((field) => field.name);
  const unknown = Object.keys(fields).filter((field) => !known.includes(field));
  if (unknown.length === 0) return issue.message;
  return `${kind} has no field ${unknown.map((field) => `"${field}"`).join(', ')}. Fields: ${known.join(', ')}.`;
}
