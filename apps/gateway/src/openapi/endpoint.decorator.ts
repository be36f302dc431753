import { Reflector } from '@nestjs/core';
import { z } from 'zod';
import type { ErrorName } from '#errors';

/** The parts of the API, in the order in which they are shown. */
export const TOPICS = [
  'Users',
  'Phone numbers',
  'E-mail',
  'Roles',
  'Installations',
  'Push',
  'Batch',
  'Pages',
  'Service',
] as const;
export type Topic = (typeof TOPICS)[number];

/** Who may call an endpoint: what a request has to show. */
export type Credentials = 'none' | 'application' | 'session' | 'session or master key' | 'master key';

/** An answer other than an error. */
export interface Answer {
  readonly description: string;
  /** The body; none of JSON where it is left out. */
  readonly body?: z.ZodType;
  /** `application/json` unless given. */
  readonly mediaType?: string;
  /** Headers that mean something here, with their meaning. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What an endpoint takes and answers. `/openapi.json`, `/docs` and the table of docs/api.md are made from it, and tests hold it to the truth. */
export interface EndpointDescription {
  readonly topic: Topic;
  /** What it does, in a few words. */
  readonly summary: string;
  /** What a caller has to know beyond that, in whole sentences. */
  readonly description?: string;
  readonly credentials: Credentials;
  /** Parameters of the URL; each field is described. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Its own errors; not those that stand before or behind every endpoint (401, 413, 500, 503, a body that is no JSON). */
  readonly errors: readonly ErrorName[];
}

/** Groups the endpoints of a topic; the keys are the names of the controller's methods. */
export function describeEndpoints<Name extends string>(
  topic: Topic,
  endpoints: Readonly<Record<Name, Omit<EndpointDescription, 'topic'>>>,
): Readonly<Record<Name, EndpointDescription>> {
  const entries = Object.entries<Omit<EndpointDescription, 'topic'>>(endpoints);
  return Object.fromEntries(entries.map(([name, endpoint]) => [name, { topic, ...endpoint }])) as Readonly<
    Record<Name, EndpointDescription>
  >;
}

/**
 * Says what a controller's method takes and answers. The gateway does not start with a route that has none
 * (but for health and metrics, described in routed-endpoints.ts).
 */
export const Endpoint = Reflector.createDecorator<EndpointDescription>();

/** The names of shapes, by shape. */
export const shapeNames = z.registry<{ name: string }>();

/** Gives a shape a name of its own in the document: told once, then referred to. */
export function named<T extends z.ZodType>(name: string, schema: T): T {
  shapeNames.add(schema, { name });
  return schema;
}
