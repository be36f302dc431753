import { z } from 'zod';
import { languages } from './application.schema.js';

/** Who asks, as far as permissions go: nobody in particular, or a user with the roles that it has. */
export const principal = z.object({
  userId: z.string().optional(),
  /** Names of the user's roles, those that come by other roles included. */
  roles: z.array(z.string()).readonly(),
});

export type Principal = z.output<typeof principal>;

/** Who asks: the application whose key was shown, and the session token as it was sent (accounts judges it). */
export const caller = z.object({
  /** One id per HTTP request; the log lines of its errors carry it, in whatever service. */
  requestId: z.string().max(64),
  appId: z.string().min(1),
  /** The request was signed with the application's master key. */
  isMaster: z.boolean(),
  sessionToken: z.string().max(256).optional(),
  /** What its Accept-Language names: for mails that the request leads to. */
  languages: languages.optional(),
});

export type Caller = z.output<typeof caller>;

/** Credentials that operators give: a strict object of texts, some of them secret. */
export type CredentialSchema = z.ZodObject<Record<string, z.ZodString | z.ZodOptional<z.ZodString>>>;

/** Text on one line. */
export const credentialText = (maxLength: number): z.ZodString =>
  z
    .string()
    .regex(new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${maxLength}}$`, 'u'), `must be 1 to ${maxLength} printable characters`);

/** Never shown again, and sealed at rest. */
export const credentialSecret: z.ZodString = z.string().min(1).max(8_192).meta({ isSecret: true });

/** Fields as they are given: what they are is told by their schema. */
export const givenCredentials = z.record(z.string(), z.string().max(8_192));

/** A field of credentials, as operators are told of it. */
export interface CredentialField {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

type Fields = Readonly<Record<string, string>>;

/** Credentials cut in two: what may be shown again, and what is sealed. */
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

/** Cuts fields that their schema has accepted in two. */
export function splitCredentials(schema: CredentialSchema, fields: Fields): SplitCredentials {
  const secretNames = new Set(credentialFieldsOf(schema).flatMap(({ name, isSecret }) => (isSecret ? [name] : [])));
  const entries = Object.entries(fields);
  return {
    shown: Object.fromEntries(entries.filter(([name]) => !secretNames.has(name))),
    secrets: Object.fromEntries(entries.filter(([name]) => secretNames.has(name))),
  };
}

/** Why fields are no credentials of a kind: it names the field, never its value. Undefined where they are. */
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
