import { z } from 'zod';
import { languages } from './application.schema.js';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = Record<string, JsonValue>;

/** The values are not checked: the output of `JSON.parse` is JSON already. */
export const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON object',
);

/** A request that one service serves. The pattern begins with the name of that service: `accounts.signUp`. */
export interface RpcContract<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly request: Request;
  readonly reply: Reply;
  readonly timeoutMs: number;
}

export type RpcData<C extends RpcContract> = z.output<C['request']>;
export type RpcReply<C extends RpcContract> = z.output<C['reply']>;

const DEFAULT_TIMEOUT_MS = 5_000;
/** For RPCs that wait for a thread to hash a password; clients still wait this long. */
export const PASSWORD_TIMEOUT_MS = 10_000;

export function rpc<Request extends z.ZodType, Reply extends z.ZodType>(
  pattern: string,
  request: Request,
  reply: Reply,
  timeoutMs: number = DEFAULT_TIMEOUT_MS,
): RpcContract<Request, Reply> {
  return { pattern, request, reply, timeoutMs };
}

/** A committed fact, named `noun.pastTense.vN`. Changes within a version are additive. */
export interface EventContract<Payload extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly payload: Payload;
  /** The publisher declares the queues of these services before it publishes, so that events wait for one that has never run. */
  readonly subscribers: readonly string[];
}

export type EventPayload<C extends EventContract> = z.output<C['payload']>;

/** The broker drops an event without subscribers. */
export function event<Payload extends z.ZodType>(
  pattern: string,
  payload: Payload,
  { subscribers = [] }: { subscribers?: readonly string[] } = {},
): EventContract<Payload> {
  return { pattern, payload, subscribers };
}

/** A direct message to one process, addressed by name. It is lost with the process, and with the process's connection to the broker. */
export type DirectMessageContract<Payload extends z.ZodType = z.ZodType> = Omit<EventContract<Payload>, 'subscribers'>;

export type DirectMessagePayload<C extends DirectMessageContract> = z.output<C['payload']>;

export function directMessage<Payload extends z.ZodType>(
  pattern: string,
  payload: Payload,
): DirectMessageContract<Payload> {
  return { pattern, payload };
}

/** The party whose permissions apply: anonymous, or a user with its roles. */
export const principal = z.object({
  userId: z.string().optional(),
  roles: z.array(z.string()).readonly(),
});

export type Principal = z.output<typeof principal>;

/** The sender of a request: the application whose key the request presents, and the session token as sent. Accounts checks the token. */
export const caller = z.object({
  /** One id per HTTP request. Every service adds it to the log lines of errors. */
  requestId: z.string().max(64),
  appId: z.string().min(1),
  isMaster: z.boolean(),
  sessionToken: z.string().max(256).optional(),
  languages: languages.optional(),
});

export type Caller = z.output<typeof caller>;

/** Credentials that operators enter: a strict object of texts, some of them secret. */
export type CredentialSchema = z.ZodObject<Record<string, z.ZodString | z.ZodOptional<z.ZodString>>>;

export const credentialText = (maxLength: number): z.ZodString =>
  z
    .string()
    .regex(new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${maxLength}}$`, 'u'), `must be 1 to ${maxLength} printable characters`);

/** Sealed at rest and never shown again. */
export const credentialSecret: z.ZodString = z.string().min(1).max(8_192).meta({ isSecret: true });

export const givenCredentials = z.record(z.string(), z.string().max(8_192));

export interface CredentialField {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

type Fields = Readonly<Record<string, string>>;

export type SplitCredentials = Readonly<Record<'shown' | 'secrets', Fields>>;

export function credentialFieldsOf({ shape }: CredentialSchema): CredentialField[] {
  return Object.entries(shape).map(([name, field]) => {
    const isRequired = !(field instanceof z.ZodOptional);
    const inner = isRequired ? field : field.unwrap();
    return { name, isRequired, isSecret: inner.meta()?.['isSecret'] === true, description: field.description };
  });
}

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
